"""Everything of the testbed that is compiled, once: so that no server has to when its first client waits."""

from __future__ import annotations

from weft.compiled import tell_loading
from weft.graph import Recipe, generate
from weft.graph.changing import Changes, make_world
from weft.testbed.options import Options
from weft.testbed.truth import expected
from weft.testbed.web import Web


def warm() -> None:
    """Compile and keep on disk what a testbed needs; a moment if that has been done before."""
    web = Web(generate(Recipe(sites=3, pages=60, topics=2), seed=1), Options(topic_words=2), seed=1)
    for page in range(web.graph.pages):
        web.body(page)
    for row in expected(web):
        web.answer(*web.locate(row.url))
    world = make_world(Recipe(sites=3, pages=60), Changes(days=1), seed=1)
    world.version_of(world.graph.seeds, 0.0)


if __name__ == "__main__":
    tell_loading()
    warm()
