"""Open files: one for each connection, and some more. In: how many connections are wanted. Out: how many there is room
for, after the limit of this process was raised as far as it may be.

The usual soft limit of 1,024 has been a matter of old programs for decades; who starts one that needs more raises it,
up to the hard limit. What the system does not let us have is done without, and said.
"""

from __future__ import annotations

import resource
from collections.abc import Callable

_OTHERS = 50  # files, pipes and sockets beside connections: 37 were counted


def room_for(connections: int, say: Callable[[str], None]) -> int:
    """How many connections may be open at once, of those that are wanted; fewer are said."""
    needed = _OTHERS + connections + connections // 4  # those that are being closed are open, too
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return connections
    soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == needed:
        return connections
    room = max(1, (soft - _OTHERS) * 4 // 5)
    say(
        f"this process may open {hard} files, which is room for {room} connections at once, not {connections}: "
        f"raise the hard limit (ulimit -Hn {needed}), or ask for fewer (--connections)"
    )
    return room
