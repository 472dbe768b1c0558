"""The engine: the live loop. `loop.py` is the one place where a page's way can be read from top to bottom."""
