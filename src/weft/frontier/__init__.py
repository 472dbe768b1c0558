"""The frontier: which page next, and when. Sites and pages, politeness, scope, URL-seen, commit and recover.

The life of a URL here: a link is *offered* (`local.discovery`), tested by the rules (`rules`, `scope`) and by URL-seen
(`local.seen`), written to the log (`durable.log`), and stands in its site's heap. When its site may be visited
(`politeness`, `local.schedule`) and the ordering ranks it first, the frontier gives a *turn*. What came of the turn is
*settled*: done, to be tried again later, or refused for a reason.

`local` is the frontier of one worker, `durable` what of it outlives the process, `shared` the global one, which all
workers share; what they say to each other is in `shared.contract`.
"""
