"""Any crawler, judged by the servers' log alone. In: a web and the logs of crawls of it. Out: numbers, and a page.

`evidence` reads a log and knows what each request was for; `worth` says what became of the requests, `manners` how the
crawler treated sites, domains and addresses, `robots` whether it did as it was asked to, and `order` how soon it had
what matters. `verdict` puts them together, and `page` shows several crawlers side by side.
"""
