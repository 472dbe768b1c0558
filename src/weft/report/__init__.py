"""What a crawl is like (P3, sections 6 and 7; P0, figures 1 to 3). In: a crawl's directory. Out: numbers (`numbers`),
and a page of figures that says what they mean (`page`).
"""
