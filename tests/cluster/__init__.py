"""A whole cluster in one process: workers, their disks, the global frontier and the web, on one virtual clock, from one
seed. What is drawn from the seed are the web, the faults and the order of all that happens at the same time; a seed
that fails, fails again.
"""
