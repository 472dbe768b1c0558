"""Seeds: where they come from, what can be said of them before a crawl, and what became of them (P3 3.1, 3.4).

- `checking` looks at a list: normal form, duplicates, rules, names; `fetching` asks for each once.
- `domains` makes seeds of a registry's names (`listing` reads and sorts them), `earlier` of an earlier crawl,
  `captures` of an archive's index.
- `outcomes` says what became of the seeds of a crawl; `standing` is what frontiers know of them.
- `asking` is how name servers are asked for many names, `order` the order of what is written.
"""
