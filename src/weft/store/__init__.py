"""The store: WARC volumes, columns and the crawl log, written in order and readable by others."""
