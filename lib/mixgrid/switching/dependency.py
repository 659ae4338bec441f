"""Method `dependency` (Gregorius & Okadome 2022): one sub-tree of the dependency parse, translated as a whole.

"Primarul a inaugurat un pod peste Dunăre." → "Primarul a inaugurat a bridge over the Danube."

The parser is any installed spaCy pipeline (`ro_core_news_lg` in the paper) or a folder that holds one. A sub-tree is
self-contained: without a gap, with its brackets and quotation marks closed, and never the sentence itself. Those of
several words come first; a single word is switched only when there are no others left.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from mixgrid.errors import UserError
from mixgrid.languages import TAG
from mixgrid.switching.base import Chosen, Group, Piece, Reason, protected, tokens, whole_clusters

_UNUSED = ["attribute_ruler", "lemmatizer", "morphologizer", "ner", "tagger"]  # of a pipeline, but for its parser
_PAIRS = {"(": ")", "[": "]", "{": "}", "«": "»", "“": "”", "„": "”"}
_EVEN = '"'


@dataclass(frozen=True)
class Dependency:
    """One self-contained sub-tree."""

    language: str
    parser: str
    name: ClassVar[str] = "dependency"
    nothing: ClassVar[Reason] = "no_subtree"

    def __post_init__(self) -> None:
        """A parser that is not there is refused before anything starts."""
        _load(self.parser)

    def groups(self, texts: Sequence[str]) -> Iterator[tuple[Group, ...]]:
        """Each sub-tree by itself. Texts are parsed one by one: in a batch, one would change the sums of another."""
        parser = _load(self.parser)
        for text in texts:
            yield subtrees(text, parser(_readable(text))) if text.strip() else ()

    def draw(self, groups: Sequence[Group], taken: Sequence[Chosen], dice: random.Random) -> Chosen | None:
        """One that was not taken yet, of several words if there is one."""
        left = [group for group in groups if group not in taken]
        large = [group for group in left if group[0].unit == "subtree"]
        return dice.choice(large or left) if left else None


@cache
def _load(name: str) -> Any:
    try:
        import spacy
    except ImportError as error:
        raise UserError("spacy is not installed: method 'dependency' needs `pip install 'mixgrid[switch]'`") from error
    try:
        pipeline = spacy.load(name, exclude=_UNUSED)
    except (OSError, ValueError) as error:
        raise UserError(
            f"method 'dependency': parser {name!r} is neither an installed spaCy pipeline nor a folder of one; install "
            f"it (`python -m spacy download {name}`) or leave the method out ({str(error).splitlines()[0]})"
        ) from error
    if "parser" not in pipeline.pipe_names:
        raise UserError(f"method 'dependency': the pipeline {name!r} has no parser, only {pipeline.pipe_names}")
    return pipeline


def _readable(text: str) -> str:
    """The text with a name-like word of the same length for each tag, which a tokenizer would take apart."""
    return TAG.sub(lambda tag: "X" + tag[0][1:-1].lower() + "x", text)


def subtrees(text: str, doc: Any) -> tuple[Group, ...]:
    """The places of the self-contained sub-trees of a parse, in the order of the text, each once."""
    words, whole = tokens(text), whole_clusters(text)
    atoms = sorted([*((word.start, word.end) for word in words), *protected(text)])
    found: dict[Piece, None] = {}
    for token in doc:
        piece = _piece(text, words, atoms, token) if token.head.i != token.i else None
        if piece and whole(piece.start, piece.end) == (piece.start, piece.end):
            found[piece] = None
    return tuple((piece,) for piece in sorted(found))


def _piece(text: str, words: Sequence[Piece], atoms: Sequence[tuple[int, int]], token: Any) -> Piece | None:
    """A token's sub-tree as whole words and tags, without punctuation at its ends; None if it is not self-contained."""
    first, last = token.left_edge, token.right_edge
    if sum(1 for _ in token.subtree) != last.i - first.i + 1:
        return None
    begin, stop = first.idx, last.idx + len(last)
    inside = [(start, end) for start, end in atoms if start < stop and begin < end]
    if not inside:
        return None
    start, end = inside[0][0], inside[-1][1]
    count = sum(start <= word.start and word.end <= end for word in words)
    if not 0 < count < len(words) or not _closed(text[start:end]):
        return None
    return Piece(start, end, "word" if len(inside) == 1 else "subtree")


def _closed(text: str) -> bool:
    """Whether every bracket and quotation mark that opens is closed again."""
    waiting: list[str] = []
    for c in text:
        if c in _PAIRS:
            waiting.append(_PAIRS[c])
        elif waiting and c == waiting[-1]:
            waiting.pop()
        elif c in _PAIRS.values():
            return False
    return not waiting and text.count(_EVEN) % 2 == 0
