"""The global frontier: what the workers of a crawl share.

`contract` says what it can do, and has the values that cross; `opening` is the one place that knows which
implementations there are: `sqlite` for one machine, `postgres` for several.
"""
