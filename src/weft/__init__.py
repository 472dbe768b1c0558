"""weft: collects a web politely and fast, in the order that matters."""

from weft.version import __version__

__all__ = ["__version__"]
