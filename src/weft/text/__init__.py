"""Texts of contents, for people and for programs that read language. In: a content. Out: its words, without markup, or
the reason why there are none. One file a format; the table of them is `formats`.
"""
