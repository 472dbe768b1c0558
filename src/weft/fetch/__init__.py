"""Fetch: names to addresses, requests to answers. Nothing above this room knows the HTTP library."""
