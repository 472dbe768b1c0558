"""Temporal pages and sites from page-view logs (P2): who publishes what is of interest for a few days only.

The way through this room is `analysis`; each step is a function of what the step before gave:

1. `reading`: logs of many forms become `Views`: which page was viewed by how many users on which day.
2. `lifetimes`, `labels`: each page's activation, dormancy and a probability that it is temporal become `Labels`;
   `curves` fits the paper's interest curve.
3. `sites`: pages with labels become ranked sites, folders and hubs.
4. `output`: all of it becomes files and one HTML page.

`worlds` makes page-view logs whose truth is known.
"""
