"""The digest of every answer that is kept: what contents are compared by."""

from __future__ import annotations

from weft.parse.stage import Stage
from weft.store.volumes import payload_digest

DIGEST = Stage(
    name="digest",
    doc="the SHA-1 of every content that is kept, which duplicates are known by: `digest`, `duplicate_of` of `pages`",
    run=payload_digest,  # In: a body. Out: 20 bytes.
    own=True,
)
