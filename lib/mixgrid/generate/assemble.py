"""Answers put into sentences: each choice becomes a variant, or a reject with its reason. Pure, so free to repeat."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from mixgrid.generate.choose import Choice, request
from mixgrid.generate.recipe import Job
from mixgrid.records import Item, Span
from mixgrid.switching.base import Reason
from mixgrid.switching.weave import Said, fit, weave


@dataclass(frozen=True)
class Reject:
    """A variant that does not exist, and why."""

    item_id: str  # of the sentence
    split: str
    language: str
    switching: str
    variant: int
    reason: Reason


@dataclass
class Made:
    """What a generation gives: the sentences with their variants, and what did not become one."""

    items: list[Item] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    # Of the spans chosen those that stayed as they were, by method, language and reason.
    left: Counter[tuple[str, str, Reason]] = field(default_factory=Counter)


def assemble(job: Job, found: Iterable[Choice], said: Mapping[str, Said]) -> Made:
    """The corpus: originals first, then the variants in the order of the choices."""
    made = Made([_original(job, sentence) for sentence in job.sentences])
    seen: dict[tuple[str, str, str], set[str]] = {}
    for choice in found:
        text, spans, reason = _mixed(job, choice, said, made)
        others = seen.setdefault((choice.sentence.item_id, choice.target, choice.method), set())
        reason = reason or ("duplicate" if text in others else None)
        if reason:
            made.rejects.append(_reject(job, choice, reason))
        else:
            others.add(text)
            made.items.append(_variant(job, choice, text, spans))
    return made


def _mixed(
    job: Job, choice: Choice, said: Mapping[str, Said], made: Made
) -> tuple[str, tuple[Span, ...], Reason | None]:
    """(text, spans, reason) of a choice; where all its spans were left as they were, the commonest reason."""
    if choice.why:
        return "", (), choice.why
    original = choice.text
    given = [said[request(job, choice, piece)[1]] for piece in choice.pieces]
    if choice.pieces[0].unit == "mixed":
        (answer,) = given
        fitted = answer if answer.reason else fit(original, answer.text, choice.target)
        return fitted.text, (), fitted.reason
    woven = weave(original, choice.pieces, given, choice.target)
    made.left.update((choice.method, job.mixed(choice.target), reason) for reason in woven.left)
    return woven.text, woven.spans, None if woven.spans else Counter(sorted(woven.left)).most_common(1)[0][0]


def _original(job: Job, sentence: Item) -> Item:
    return replace(sentence, corpus=job.recipe.name, item_hash="")


def _variant(job: Job, choice: Choice, text: str, spans: tuple[Span, ...]) -> Item:
    sentence = choice.sentence
    return replace(
        sentence,
        corpus=job.recipe.name,
        item_id=f"{sentence.item_id}-{choice.target}-{choice.method}-{choice.k}",
        twin_id=sentence.item_id,
        language=job.mixed(choice.target),
        switching=choice.method,
        variant=choice.k,
        text=text,
        spans=spans,
        tokens=(),  # the sentence's own, and its words are others now
        item_hash="",
    )


def _reject(job: Job, choice: Choice, reason: Reason) -> Reject:
    sentence = choice.sentence
    return Reject(sentence.item_id, sentence.split, job.mixed(choice.target), choice.method, choice.k, reason)
