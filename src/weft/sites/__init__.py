"""The sites of a crawl, and what each waits for. In: a crawl's directory. Out: all of them as columns (`survey`), or
one with everything that is known of it (`one`).

Only files are read, as of the last commits of the workers, beside a running crawl or after it. Groups that no worker
has checked out are in no worker's files, and those on the shelf are there by their keys alone: they are not listed.
"""
