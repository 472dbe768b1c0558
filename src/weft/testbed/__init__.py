"""The testbed: a synthetic web, hazards included, served on loopback to any crawler.

`web` is the whole of it without sockets: which address answers what. It is put together from what sites are
called (`names`), what their pages are called (`paths`), what is special about them (`traits`), where they
link to (`links`), what they look like (`text`, `compose`, `pages`), what fails (`hazards`), and what
crawlers are told (`robots`). `serve` puts it on the network, with `http`, `tls`, `dns` and `log`; `bed`
does so in a child process for tests and benchmarks; `truth` says what a crawl should have seen.
"""
