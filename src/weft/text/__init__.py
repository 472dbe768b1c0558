"""Texts of contents, for people and for programs that read language. In: a content. Out: its words, without markup."""
