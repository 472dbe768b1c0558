"""`weft focus`: topic models for focused crawls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import Parameter

from weft.cli.lines import lines_of
from weft.cli.terminal import Terminal

if TYPE_CHECKING:
    from weft.text.topic import Labelled

_TAUGHT = 5  # every so manieth text is not learnt from, but the model is held against it
_FORM = "one text a line, behind its __label__NAME"
_Texts = Annotated[
    list[Path], Parameter(help="Files with a text a line, as fastText has them: __label__NAME, then the text.")
]
_Json = Annotated[bool, Parameter(help="As JSON.", negative=())]


def train(
    texts: _Texts,
    /,
    *,
    topic: Annotated[str, Parameter(help="The label of the texts that are about it; all others are not.")],
    out: Annotated[Path, Parameter(help="File for the model.")],
    json: _Json = False,
) -> None:
    """Learn from texts what those of a topic have in common.

    The model is a file of words and weights, in JSON, for `--application-options about=model:FILE` of a focused crawl.
    Reading one runs no code. How well it does is told beforehand: a model that was made without every fifth text is
    held against these.

    For example:

        weft focus train texts.txt --topic cars --out cars.json

        weft crawl --seeds seeds.txt --out cars --application weft.applications:Focused --application-options
        about=model:cars.json --link-text
    """
    from weft.disk import beside, writing
    from weft.text.topic import judged
    from weft.text.topic import train as learn

    given = _labelled(texts, topic)
    own = [text for number, text in enumerate(given) if number % _TAUGHT]
    verdicts = judged(learn(own, topic), given[::_TAUGHT])
    model = learn(given, topic)
    with writing(out), beside(out) as new:
        new.write_bytes(model.encoded())
    if json:
        said = {"words": len(model.words), "telling": model.telling(), "precision": verdicts.precision}
        print(msgspec.json.encode(said | {"recall": verdicts.recall, "texts": len(given)}).decode())
        return
    terminal = Terminal(soft_wrap=True)
    terminal.print(
        f"{out}: {len(model.words):,} words, of {len(given):,} texts; most telling: {', '.join(model.telling())}"
    )
    terminal.print(
        f"made of four fifths of them and held against the others: precision {verdicts.precision:.3f}, "
        f"recall {verdicts.recall:.3f}"
    )


def check(
    model: Annotated[Path, Parameter(help="File of the model.")],
    texts: _Texts,
    /,
    *,
    threshold: Annotated[float, Parameter(help="From which likelihood on a text counts as about it.")] = 0.5,
    json: _Json = False,
) -> None:
    """Hold a topic model against texts whose labels are known.

    For example:

        weft focus test cars.json others.txt
    """
    from weft.text.topic import judged, read_model

    found = read_model(model)
    verdicts = judged(found, _labelled(texts, found.topic), threshold)
    if json:
        said = msgspec.structs.asdict(verdicts) | {"precision": verdicts.precision, "recall": verdicts.recall}
        print(msgspec.json.encode(said).decode())
        return
    Terminal(soft_wrap=True).print(
        f"{verdicts.texts:,} texts, {verdicts.about:,} about {found.topic}: {verdicts.said:,} said to be, "
        f"{verdicts.right:,} of them rightly: precision {verdicts.precision:.3f}, recall {verdicts.recall:.3f}"
    )


def _labelled(texts: list[Path], topic: str) -> list[Labelled]:
    from weft.text.topic import labelled

    return [text for path in texts for text in labelled(lines_of(path, "the texts", _FORM), topic, str(path))]
