"""Operations: how a crawl stands, and who is told of it while it runs. In: the global frontier and the directory of a
crawl. Out: one status; metrics that Prometheus asks for; reports that are sent on a schedule.

Nobody here changes a crawl, and nobody's failure here ends one.
"""
