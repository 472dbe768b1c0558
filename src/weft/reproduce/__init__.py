"""The experiments of the papers, done again: every table and figure, and how near ours comes.

`scale` says how large, `experiments` which simulations, `run` has them done in processes of their own, `simulations` is
what such a process does. `published` has the papers' numbers and sentences, `claims`, `values` and `verdicts` what
became of each. `real` reads real graphs, `live` crawls the testbed. `document` and `beyond` are its text, `figures`,
`blocks` and `report` write it down.
"""
