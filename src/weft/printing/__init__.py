"""Reports for people: one look for every HTML page (`page`) and every figure (`charts`, `plots`, `figures`).

Whoever has results to show builds a `Page` and draws its figures here; nothing in this room knows what they mean.
"""
