"""Benchmarks: what weft costs, beside what the same work costs without it. They print figures; tests assert
behaviour.
"""
