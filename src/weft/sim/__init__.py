"""Simulations: a graph is crawled on a clock of its own, and what came in when is measured, drawn and written down.

`result` is what a simulation leaves behind; `metrics` are the papers' measures of it; `report` writes them as JSON,
Parquet, plots and one page, in the look of `weft.printing`.
"""
