"""The frontier: which page next, and when. Sites and pages, politeness, scope, URL-seen, commit and recover.

The life of a URL here: a link is *offered* (`discovery`), tested by the `scope` rules and by URL-seen (`seen`),
written to the `log`, and stands in its site's heap. When its site may be visited (`politeness`) and the ordering
ranks it first, the frontier gives a *turn*. What came of the turn is *settled*: done, to be tried again later, or
refused for a reason.

`local` is the frontier of one worker, and puts its parts together; `embedded` is the global one, which the workers of
a machine share. What they say to each other is in `contract`.
"""
