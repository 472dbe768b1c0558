"""What scripted networks have in common: names with one address each, which nothing is wrong with."""

from __future__ import annotations

from collections.abc import Callable

from weft.engine.drive import Ask


class PlainNames:
    """The part of a network that is about names, where a script has nothing to say of them."""

    proxied = False
    lease = float("inf")

    def another(self, host: str, address: str, allowed: Callable[[str], bool]) -> Ask[bool]:
        """There is but one address."""
        del host, address, allowed
        return Ask(lambda done: done(False))

    def silent(self) -> Ask[str]:
        """No name server is asked."""
        return Ask(lambda done: done(""))

    def denials_hold(self) -> Ask[bool]:
        """What is said of names is true."""
        return Ask(lambda done: done(True))

    def mistrust(self, host: str) -> None:
        """Nothing is kept."""

    def refresh(self) -> None:
        """Nothing is kept."""

    def is_wildcard(self, domain: str) -> Ask[bool]:
        """No domain has any name."""
        del domain
        return Ask(lambda done: done(False))
