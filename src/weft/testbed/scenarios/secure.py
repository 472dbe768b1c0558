"""TLS that is not as it should be: domains with bad certificates, or that speak nothing newer than TLS 1.1."""

from __future__ import annotations

from weft.testbed.answers import Answer, plain_answer
from weft.testbed.scenarios.scenario import Ask, Scenario, number_in, page, sheet


def _scenario(name: str, flaw: str, about: str) -> Scenario:
    """A domain with one flaw, and some pages on it; nothing leads there where no TLS is served."""

    def answer(ask: Ask) -> Answer:
        if not ask.label or (ask.path != b"/" and not 0 <= number_in(ask.path, b"/safe-", b".html") < 3):
            return plain_answer(404, name)
        path = ask.path.decode()
        links = [f"/safe-{number}.html" for number in range(3)] if path == "/" else []
        return page(name, sheet(ask.place, "Safe", links, draw=ask.place.draw(name, path)))

    return Scenario(
        name=name,
        about=about,
        source="RFC 5280; RFC 8996; decision 0008",
        family="protocol",
        names={"safe": 1},
        flaw=flaw,
        links=lambda place: [] if place.tls_port is None else [place.url("safe-1", secure=True)],
        answer=answer,
    )


SECURE = (
    _scenario("tls-expired", "expired", "a domain whose certificate expired in 2002"),
    _scenario("tls-wrong-name", "wrong-name", "a domain whose certificate is for somebody else"),
    _scenario("tls-self-signed", "self-signed", "a domain that signed its certificate itself"),
    _scenario("tls-old", "old", "a domain that speaks TLS 1.0 and 1.1 only"),
)
