"""Translations against reference translations: BLEU and chrF++, of the corpus and as means of sentences.

Each distinct answer is scored once, where its part is judged; what is left of it are numbers that may be added up:
sacrebleu's counts for the corpus scores, a sum for the means. All values are fractions (BLEU 31.2 is 0.312).

An answer that could not be read, or failed, is scored as an empty text, or left out under the policy `drop`. An item
without a reference counts in the rates and in no score.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial
from typing import cast

import numpy as np

from mixgrid.languages import language
from mixgrid.metrics import bleu, chrf
from mixgrid.metrics.base import EMPTY, Answer, Array, Metric, Policies
from mixgrid.metrics.summary import COUNTS, ROWS, corpus, counted, mean, put_counts, share
from mixgrid.metrics.texts import TextScores
from mixgrid.records import Item

VERSION = 1
NO_REFERENCE = "without reference"  # rows, by what became of them, as ROWS
SENTENCES = ("bleu_sentence", "chrf++_sentence")
_BLEU = len(ROWS) * 2 + len(SENTENCES)  # where BLEU's counts begin; then the reference lengths of unparsed and failed
Texts = tuple[str, tuple[str, ...]]  # the language of the references, and the references


class Translation:
    """The family of a task whose answers are texts that say what a reference says; it has no classes."""

    name = "translation"
    votes: Mapping[str, Callable[[Array], Array]] = {}
    baselines: Mapping[str, Callable[[Array], Array]] = {}
    headline: tuple[str, ...] = ("bleu_corpus", "chrf++_corpus")

    def __init__(self, classes: Sequence[str] = (), policies: Policies | None = None) -> None:
        if classes:
            raise ValueError(f"translation takes its references from the items, not the classes {list(classes)}")
        self.policies = policies or Policies()
        bleu_places = (*(f"bleu counts {i}" for i in range(bleu.WIDTH)), "bleu of unparsed", "bleu of failed")
        kinds = (("counts", COUNTS), ("of unparsed", chrf.ORDERS), ("of failed", chrf.ORDERS))
        chrf_places = tuple(f"chrf++ {kind} {i}" for kind, width in kinds for i in range(width))
        self.features: tuple[str, ...] = (
            *ROWS, *(f"{row} {NO_REFERENCE}" for row in ROWS), *(f"sum of {name}" for name in SENTENCES),
            *bleu_places, *chrf_places,
        )  # fmt: skip

    @cached_property
    def signature(self) -> str:
        """With the versions of the package that scores."""
        return "|".join([self.name, f"v:{VERSION}", *self._made_by])

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Scores of the corpus, means of the sentences' scores, and the shares of what could not be scored."""
        options, no_rows = str(self.policies), partial(_nothing, policies=self.policies)
        bleu_by, chrf_by = (f"{made}|scale:0-1|{options}" for made in self._made_by)
        first = len(ROWS) * 2
        by_sentence = [partial(mean, policies=self.policies, at=first + i) for i in range(len(SENTENCES))]
        return (
            Metric("bleu_corpus", partial(bleu_corpus, policies=self.policies), 1, bleu_by, no_rows),
            Metric("chrf++_corpus", partial(corpus, policies=self.policies), 1, chrf_by, no_rows),
            Metric(SENTENCES[0], by_sentence[0], 1, bleu_by, no_rows),
            Metric(SENTENCES[1], by_sentence[1], 1, chrf_by, no_rows),
            Metric("unparsed", partial(_share, at=1), lower_is_better=True),
            Metric("failed", partial(_share, at=2), lower_is_better=True),
        )

    def facts(self, item: Item, gold: str) -> Hashable:
        """The language that is translated into, and every reference that is not blank."""
        return language(item.language).parts[-1], tuple(text for text in item.references if text.strip())

    def statistics(self, facts: Sequence[Hashable], answers: Sequence[Answer]) -> Array:
        """One vector for each answer."""
        stats = np.zeros((len(answers), len(self.features)))
        texts = [cast(Texts, fact) for fact in facts]
        kinds = np.array([ROWS.index("answered" if a.verdict == "ok" else a.verdict) for a in answers], dtype=np.int64)
        scored = np.array([bool(references) for _, references in texts], dtype=bool)
        stats[np.arange(len(answers)), kinds + len(ROWS) * ~scored] = 1
        if scored.any():
            said = [
                a.value or "" if a.verdict == "ok" else "" for a, there in zip(answers, scored, strict=True) if there
            ]
            stats[scored] += self._scored(said, [text for text in texts if text[1]], kinds[scored])
        return stats

    def _scored(
        self, said: list[str], texts: Sequence[Texts], kinds: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    ) -> Array:
        """The columns after the rows' own."""
        stats = np.zeros((len(said), len(self.features)))
        by_bleu, by_chrf = _scores(said, texts)
        first = len(ROWS) * 2
        stats[:, first] = by_bleu.values[SENTENCES[0]] / 100
        stats[:, first + 1] = by_chrf.values[SENTENCES[1]] / 100
        counts = by_bleu.sums["bleu_corpus"].astype(np.float64)
        stats[kinds == 0, _BLEU : _BLEU + bleu.WIDTH] = counts[kinds == 0]
        for kind in (1, 2):  # what was not answered has only the length of its reference
            stats[kinds == kind, _BLEU + bleu.WIDTH + kind - 1] = counts[kinds == kind, 1]
        for of_chrf in by_chrf.sums.values():
            put_counts(stats[:, _BLEU + bleu.WIDTH + 2 :], kinds, of_chrf.astype(np.float64))
        return stats

    @cached_property
    def _made_by(self) -> tuple[str, str]:
        by_bleu, by_chrf = _scores(["a", "a"], [("", ("a",)), ("", ("a", "b"))])
        return by_bleu.signature, by_chrf.signature


def _scores(said: list[str], texts: Sequence[Texts]) -> tuple[TextScores, TextScores]:
    references, tags = [list(references) for _, references in texts], [tag for tag, _ in texts]
    return bleu.score(said, references, languages=tags), chrf.score(said, references, languages=tags)


def bleu_corpus(stats: Array, policies: Policies) -> Array:
    """BLEU from the summed counts."""
    counts = stats[..., _BLEU : _BLEU + bleu.WIDTH].copy()
    for i, policy in enumerate((policies.unparsed, policies.failed)):
        if policy != "drop":
            counts[..., 1] += stats[..., _BLEU + bleu.WIDTH + i]
    return np.where(counted(stats, policies) > 0, bleu.total(counts) / 100, np.nan)


def _share(stats: Array, at: int) -> Array:
    """Share of all rows, those without a reference too."""
    rows = stats[..., : len(ROWS)] + stats[..., len(ROWS) : len(ROWS) * 2]
    return share(rows, at)


def _nothing(total: Array, policies: Policies) -> str:
    if counted(total, policies):
        return ""
    return "n/a (no references)" if total[len(ROWS) : len(ROWS) * 2].any() else EMPTY
