"""The console of a crawl: pages for whoever runs it, in a browser. In: a crawl's directory, or the address of its
database. Out: how it stands, live; its sites, its URLs, its life as plots; and forms that manage it.

`door` decides who comes in, and nothing is answered that has not passed it; `serving` opens the socket; `pages` and
`actions` answer, by the same functions as the commands; `watching` looks at the crawl for as long as somebody watches.
What comes from crawled pages is text here, never mark-up, and no part of a request ever names a file.
"""
