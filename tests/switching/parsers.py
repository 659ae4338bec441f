"""spaCy pipelines for tests: one whose heads are set by hand, and one trained on a treebank in minutes."""

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.converters.conllu_to_docs import conllu_to_docs

HEADS = "mixgrid_test_heads"


@Language.factory(HEADS, default_config={"heads": {}})
class _Heads:
    """Gives a text's tokens the heads (by index) that were written down for it; another text is one flat tree."""

    def __init__(self, nlp: Language, name: str, heads: dict[str, list[int]]) -> None:
        self.heads = heads

    def __call__(self, doc: Doc) -> Doc:
        heads = self.heads.get(doc.text, [0] * len(doc))
        assert len(heads) == len(doc), f"{len(doc)} tokens: {[t.text for t in doc]}"
        return Doc(
            doc.vocab,
            [t.text for t in doc],
            [bool(t.whitespace_) for t in doc],
            heads=heads,
            deps=["ROOT" if head == i else "dep" for i, head in enumerate(heads)],
        )


def parser_with(folder: Path, heads: Mapping[str, list[int]]) -> str:
    """A pipeline on disk, for Romanian, that parses these texts as told."""
    nlp = spacy.blank("ro")
    nlp.add_pipe(HEADS, name="parser", config={"heads": dict(heads)})
    nlp.to_disk(folder)
    return str(folder)


def trained(treebank: Path, folder: Path, sentences: int = 600, epochs: int = 4) -> str:
    """A parser trained on a UD treebank's dev file, kept in a folder; a minute on a free core."""
    nlp = spacy.blank("ro")
    nlp.add_pipe("parser")
    examples = list(_examples(nlp, treebank, sentences))
    nlp.initialize(lambda: examples)
    dice = random.Random(1)
    for _ in range(epochs):
        dice.shuffle(examples)
        for start in range(0, len(examples), 32):
            nlp.update(examples[start : start + 32], drop=0.1)
    nlp.to_disk(folder)
    return str(folder)


def accuracy(parser: str, treebank: Path) -> float:
    """The share of heads that a pipeline finds in the first sentences of a treebank."""
    nlp = spacy.load(parser)
    return float(nlp.evaluate(list(_examples(nlp, treebank, 200)))["dep_uas"])


def _examples(nlp: Any, treebank: Path, most: int) -> Iterator[Example]:
    docs: Iterator[Doc] = conllu_to_docs(treebank.read_text("utf-8"), n_sents=1, no_print=True)  # type: ignore[no-untyped-call]
    for doc, _ in zip(docs, range(most), strict=False):
        words, spaces = [t.text for t in doc], [bool(t.whitespace_) for t in doc]
        yield Example(Doc(nlp.vocab, words, spaces), doc)
