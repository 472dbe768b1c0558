"""One worker's frontier, in memory: its sites, its pages, and when which of them has its turn. See `frontier`."""
