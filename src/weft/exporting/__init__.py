"""A crawl for other programs: WACZ for those that replay it (`wacz`), lines of JSON or CSV for those that compute
(`lines`).

Everything is written as it is read: memory does not grow with the crawl, and the output may be a pipe.
"""
