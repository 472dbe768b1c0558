"""What links count, as it is set. Apart from `ties`, which uses it: settings are read where nothing is compiled."""

from __future__ import annotations

from dataclasses import dataclass

from weft.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkWeights:
    """What links count in orderings that score pages, from 0 (nothing) to 1 (as much as any other)."""

    weight_site: float = setting(1.0, "what a link within a site adds to a score", at_least=0, at_most=1)
    weight_domain: float = setting(
        1.0, "what a link between two sites of a registered domain adds to it", at_least=0, at_most=1
    )
    weight_address: float = setting(
        1.0, "what a link between two sites at one address adds to it", at_least=0, at_most=1
    )
    weight_farm: float = setting(
        1.0, "what a link of a site adds that is taken for a part of a link farm", at_least=0, at_most=1
    )

    @property
    def given(self) -> bool:
        """Does any link count less?"""
        return self.values != (1.0, 1.0, 1.0, 1.0)

    @property
    def values(self) -> tuple[float, float, float, float]:
        """The weights in the order of what they are for."""
        return self.weight_site, self.weight_domain, self.weight_address, self.weight_farm
