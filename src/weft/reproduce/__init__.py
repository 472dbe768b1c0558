"""The experiments of the papers, done again: every table and figure, and how near ours comes.

`scale` says how large, `experiments` which simulations, `run` has them done in processes of their own (`simulations` is
what such a process does). `published` has the papers' values, `verdicts` says what became of each; `signs`, `reasons`,
`real` and `live` are the parts beyond the papers' own tables: signs over seeds, what would have to be true, real graphs,
and crawls of the testbed. `report`, `document` and `figures` write it down.
"""
