"""Summaries against reference summaries: ROUGE, METEOR, chrF++, and BERTScore where an encoder is declared.

Each distinct answer is scored once, where its part is judged; what is left of it are numbers that may be added up: a
sum for every mean of items, and chrF++'s counts for its corpus score. ROUGE and METEOR come in two tokenizations,
`unicode` under the plain name and `_compat`, what papers print. All values are fractions, chrF++ too (44.0 % is 0.44).

An answer that could not be read, or failed, is scored as an empty text, or left out under the policy `drop`.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import cast

import numpy as np

from mixgrid.metrics import bertscore, chrf, meteor, rouge
from mixgrid.metrics.base import EMPTY, Answer, Array, Metric, Policies, ratio
from mixgrid.metrics.texts import TextScores
from mixgrid.records import Item

VERSION = 1
CORPUS, SENTENCE = "chrf++_corpus", "chrf++_sentence"
COMPAT = "_compat"
ROWS = ("answered", "unparsed", "failed")
STATUSES = ("empty", "no_words", f"no_words{COMPAT}", "truncated")  # of what was answered
COUNTS = 3 * chrf.ORDERS  # of chrF++, by order: hypothesis, reference, match
Texts = tuple[str, tuple[str, ...]]  # the combination of languages, and the references


class Summary:
    """The family of a task whose answers are texts; it has no classes."""

    name = "summary"
    votes: Mapping[str, Callable[[Array], Array]] = {}
    baselines: Mapping[str, Callable[[Array], Array]] = {}

    def __init__(self, classes: Sequence[str] = (), policies: Policies | None = None) -> None:
        if classes:
            raise ValueError(f"summary takes its references from the items, not the classes {list(classes)}")
        self.policies = policies or Policies()
        self.values = value_names(self.policies)
        counts = tuple(f"chrf++ {kind}" for kind in ("counts", "of unparsed", "of failed"))
        widths = (COUNTS, chrf.ORDERS, chrf.ORDERS)
        places = tuple(f"{name} {i}" for name, width in zip(counts, widths, strict=True) for i in range(width))
        self.features = ROWS + STATUSES + tuple(f"sum of {name}" for name in self.values) + places
        last = CORPUS if self.policies.references == "max" else SENTENCE
        self.headline: tuple[str, ...] = ("rougeL", "rouge1", "meteor", last)

    @cached_property
    def signature(self) -> str:
        """With the versions of all packages that score; a declared encoder is loaded for it, and tried on a canary."""
        return "|".join([self.name, f"v:{VERSION}", *dict.fromkeys(self._made_by.values())])

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """A mean for every kind of value, chrF++ of the corpus, and the shares of what could not be scored."""
        options, made_by = str(self.policies), self._made_by
        no_rows = partial(_nothing, policies=self.policies)
        first = len(ROWS) + len(STATUSES)
        found = [
            Metric(name, partial(mean, policies=self.policies, at=first + i), 1, f"{made_by[name]}|{options}", no_rows)
            for i, name in enumerate(self.values)
        ]
        if self.policies.references == "max":
            total = partial(corpus, policies=self.policies)
            found.append(Metric(CORPUS, total, 1, f"{made_by[SENTENCE]}|scale:0-1|{options}", no_rows))
        for i, name in enumerate(("unparsed", "failed"), start=1):
            found.append(Metric(name, partial(share, at=i), lower_is_better=True))
        for i, name in enumerate(STATUSES, start=len(ROWS)):
            found.append(Metric(name, partial(of_answered, at=i), options="of answered", lower_is_better=True))
        return tuple(found)

    def facts(self, item: Item, gold: str) -> Hashable:
        """The languages and every reference that is not blank."""
        return item.language, tuple(text for text in item.references if text.strip())

    def statistics(self, facts: Sequence[Hashable], answers: Sequence[Answer]) -> Array:
        """One vector for each answer."""
        stats = np.zeros((len(answers), len(self.features)))
        kinds = np.array([ROWS.index("answered" if a.verdict == "ok" else a.verdict) for a in answers], dtype=np.int64)
        stats[np.arange(len(answers)), kinds] = 1
        said = [answer.value or "" if answer.verdict == "ok" else "" for answer in answers]
        columns = {name: i for i, name in enumerate(self.features)}
        for suffix, scored in self._scored(said, [cast(Texts, fact) for fact in facts]):
            for name, values in _named(scored, suffix):
                stats[:, columns[f"sum of {name}"]] = values
            for status in ("empty", "no_words", "truncated"):
                column = columns[status + suffix] if status == "no_words" else columns[status]
                seen = (kinds == 0) & np.array([s == status for s in scored.statuses], dtype=bool)
                stats[seen, column] = 1
            for counts in scored.sums.values():
                put_counts(stats[:, columns["chrf++ counts 0"] :], kinds, counts.astype(np.float64))
        return stats

    @cached_property
    def _made_by(self) -> dict[str, str]:
        """Value → what its metric says of itself, from scoring one word against one reference and against two."""
        scored = self._scored(["a", "a"], [("", ("a",)), ("", ("a", "b"))])
        return {name: made.signature for suffix, made in scored for name, _ in _named(made, suffix)}

    def _scored(self, said: list[str], texts: Sequence[Texts]) -> Iterator[tuple[str, TextScores]]:
        references, tags = [list(references) for _, references in texts], [tag for tag, _ in texts]
        rule = self.policies.references
        for suffix, tokenizer in (("", "unicode"), (COMPAT, "compat")):
            yield suffix, rouge.score(said, references, tokenizer=tokenizer, multi=rule, languages=tags)
            yield suffix, meteor.score(said, references, tokenizer=tokenizer, multi=rule, languages=tags)
        yield "", chrf.score(said, references, multi=rule, languages=tags)
        if self.policies.encoder:
            encoder = self.policies.encoder
            yield "", bertscore.score(said, references, encoder=encoder, multi=rule, languages=tags)


def value_names(policies: Policies) -> tuple[str, ...]:
    """What each answer is scored by."""
    words = (*rouge.TYPES, "meteor")
    embedded = (*bertscore.NAMES, "bertscore_unk") if policies.encoder else ()
    return (*words, *(name + COMPAT for name in words), SENTENCE, *embedded)


def _named(scored: TextScores, suffix: str) -> Iterator[tuple[str, Array]]:
    """The values that are kept: of ROUGE the F1, which papers print; chrF++ as a fraction."""
    for name, values in scored.values.items():
        if name.startswith("rouge"):
            if name.endswith("_f"):
                yield name.removesuffix("_f") + suffix, values
        else:
            yield name + suffix, values / 100 if name == SENTENCE else values


def put_counts(places: Array, kinds: Array | np.ndarray[tuple[int, ...], np.dtype[np.int64]], counts: Array) -> None:
    """chrF++'s counts of what was answered; of the others only their references count, and apart."""
    answered = kinds == 0
    places[answered, :COUNTS] = counts[answered]
    for kind in (1, 2):
        start = COUNTS + (kind - 1) * chrf.ORDERS
        places[kinds == kind, start : start + chrf.ORDERS] = counts[kinds == kind, 1::3]


def counted(stats: Array, policies: Policies) -> Array:
    """Rows that are not dropped."""
    kept: Array = stats[..., 0]
    for column, policy in ((1, policies.unparsed), (2, policies.failed)):
        kept = kept + (0 if policy == "drop" else stats[..., column])
    return kept


def mean(stats: Array, policies: Policies, at: int) -> Array:
    """Mean over items; what could not be read adds nothing to the sum."""
    return ratio(stats[..., at], counted(stats, policies))


def corpus(stats: Array, policies: Policies) -> Array:
    """chrF++ from the summed counts."""
    tail = stats[..., stats.shape[-1] - COUNTS - 2 * chrf.ORDERS :]
    counts = tail[..., :COUNTS].copy()
    for i, policy in enumerate((policies.unparsed, policies.failed)):
        if policy != "drop":
            start = COUNTS + i * chrf.ORDERS
            counts[..., 1::3] += tail[..., start : start + chrf.ORDERS]
    return np.where(counted(stats, policies) > 0, chrf.total(counts) / 100, np.nan)


def share(stats: Array, at: int) -> Array:
    """Share of all rows."""
    return ratio(stats[..., at], stats[..., : len(ROWS)].sum(axis=-1))


def of_answered(stats: Array, at: int) -> Array:
    """Share of the rows that were answered and read."""
    return ratio(stats[..., at], stats[..., 0])


def _nothing(total: Array, policies: Policies) -> str:
    return "" if counted(total, policies) else EMPTY
