"""URLs: from any text to the one spelling we keep, and the questions asked about it.

The life of a URL text:

1. Somebody wrote it: a seed list, an ``href``, a ``Location`` header. `normal_form` resolves it and brings it
   into the one spelling that everything behind relies on, or answers with an `Unusable` that says why not.
2. `fingerprint` gives it the 64 bits by which it is named outside a process.
3. `site_of` and `registered_domain` say whose queue it stands in and with whom it shares a throttle, as
   `network_of` does of its address; `is_dynamic` how deep it may lie.
4. When its turn comes, `origin_of` says whose robots.txt decides and `target_of` what to ask it; `web_port`,
   `literal_address` and `special_range` keep the crawl away from ports and addresses that are not the public
   web's.
5. When it is stored, `surt` is the key under which replay finds it.

Everything here is a pure function of its arguments; nothing opens a socket or a file but the Public Suffix
List.
"""

from __future__ import annotations

from weft.urls.address import (
    Allowed,
    SpecialRange,
    is_loopback,
    is_loopback_name,
    literal_address,
    network_of,
    refused_range,
    special_range,
    web_port,
)
from weft.urls.fingerprint import fingerprint, fingerprints, signed
from weft.urls.normal import (
    PLAIN_RULES,
    Unusable,
    UrlRules,
    completed,
    credentials_of,
    normal_form,
    without_credentials,
)
from weft.urls.shape import DYNAMIC_EXTENSIONS, extension, is_dynamic
from weft.urls.site import (
    Parts,
    host_of,
    origin_of,
    registered_domain,
    registrable,
    site_of,
    split,
    target_of,
)
from weft.urls.surt import surt

__all__ = [
    "DYNAMIC_EXTENSIONS",
    "PLAIN_RULES",
    "Allowed",
    "Parts",
    "SpecialRange",
    "Unusable",
    "UrlRules",
    "completed",
    "credentials_of",
    "extension",
    "fingerprint",
    "fingerprints",
    "host_of",
    "is_dynamic",
    "is_loopback",
    "is_loopback_name",
    "literal_address",
    "network_of",
    "normal_form",
    "origin_of",
    "refused_range",
    "registered_domain",
    "registrable",
    "signed",
    "site_of",
    "special_range",
    "split",
    "surt",
    "target_of",
    "web_port",
    "without_credentials",
]
