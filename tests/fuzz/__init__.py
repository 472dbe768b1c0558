"""Fuzzing of what reads bytes of others: the same readers, given what nobody has thought of.

`python -m tests.fuzz --help` says what can be asked of it. A target is a file here (`target.NAMES`); docs/fuzzing.md
has the rest.
"""
