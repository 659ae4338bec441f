#!/usr/bin/env python3
"""How much faster than their libraries ROUGE and METEOR are here, at equal values: one run, one core, seeded text.

    .venv/bin/python scripts/bench_text_metrics.py

Both sides get the same texts (50 to 110 words in PINGPONG's five combinations, all distinct: nothing comes from a
memory of scores) and the same tokenizer, and tokenizing counts on both. The library scores a sample of them; ours all,
since a sample would be over too soon to be timed. Time is the process's own, so that other programs weigh less; still,
the three rounds are printed as a range. Exit 1 if a value differs, or if a goal is missed on texts of one line. On
texts of several lines the native code has to do Lsum too, which costs it more than the other five types together.
"""

import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

os.environ["RAYON_NUM_THREADS"] = "1"  # read once, when the native code starts
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import numpy as np
from nltk.translate.meteor_score import single_meteor_score
from rouge_score import rouge_scorer

from mixgrid.metrics import meteor, rouge, tokenizers
from mixgrid.metrics.texts import TextScores

PAIRS, SAMPLE, ROUNDS = 6000, 150, 3
STEMS = {
    "id-en": "teknologi bahas dampak kerja kembang masyarakat walk talk nation develop relat infrastruct",
    "jv-id-en": "rembug gawe sinau omah sekolah bahas dampak kerja kembang walk talk nation develop",
    "su-id-en": "ngobrol gawe diajar imah sakola bahas dampak kerja kembang walk talk nation develop",
    "ha-en": "ɗalibai makaranta ƙara ilimi lafiya ɓangare tattauna walk talk nation develop",
    "ar-dz-fr": "تكنولوجيا تطور أصدقاء مشروع خدمة مدينة دراسة école étudi travail développ",
}
ENDINGS = ("", "nya", "an", "ing", "ed", "s", "ation", "ful", "e", "i", "ed,", "er.")
SMALL = {"ar-dz-fr": "في و من على la de et le"}
SMALL_ELSE = "di dan ke yang the of a da"

Texts = Sequence[str]
T = TypeVar("T")


class Words:
    """Our tokenizer, as rouge-score takes one."""

    def tokenize(self, text: str) -> list[str]:
        """Words of any script."""
        return tokenizers.words(text)


class NoSynonyms:
    """What lets nltk run without WordNet."""

    def synsets(self, _word: str) -> list[object]:
        """None."""
        return []


def rouge_library(predictions: Texts, references: Texts, tokenizer: str) -> list[list[float]]:
    """All six variants by rouge-score: precision, recall, F1 each."""
    scorer = rouge_scorer.RougeScorer(list(rouge.TYPES), tokenizer=Words() if tokenizer == "unicode" else None)
    scored = [scorer.score(reference, text) for text, reference in zip(predictions, references, strict=True)]
    return [[value for name in rouge.TYPES for value in row[name]] for row in scored]


def meteor_library(predictions: Texts, references: Texts, tokenizer: str) -> list[list[float]]:
    """METEOR by nltk, with its own stemmer."""
    words = tokenizers.tokenizer(tokenizer)
    pairs = zip(predictions, references, strict=True)
    return [[single_meteor_score(words(other), words(text), wordnet=NoSynonyms())] for text, other in pairs]


@dataclass(frozen=True)
class Race:
    """A library against ours, and how many times as fast ours is to be."""

    name: str
    library: Callable[[Texts, Texts, str], list[list[float]]]
    ours: Callable[..., TextScores]
    goal: float


RACES = (Race("ROUGE-1/2/3/4/L/Lsum", rouge_library, rouge.score, 100), Race("METEOR", meteor_library, meteor.score, 4))


def texts(rng: random.Random, count: int, lines: int) -> list[str]:
    """Made-up summaries, the languages in turn, each of that many lines."""
    vocabularies = [
        [stem + ending for stem in stems.split() for ending in ENDINGS] + SMALL.get(tag, SMALL_ELSE).split() * 8
        for tag, stems in STEMS.items()
    ]
    made = [rng.choices(vocabularies[i % len(STEMS)], k=rng.randint(50, 110)) for i in range(count)]
    return ["\n".join(" ".join(words[i::lines]) for i in range(lines)) for words in made]


def timed(act: Callable[[], T]) -> tuple[float, T]:
    """Seconds of this process, and the result."""
    start = time.process_time()
    result = act()
    return time.process_time() - start, result


def run(race: Race, tokenizer: str, predictions: Texts, references: Texts) -> tuple[bool, float]:
    """Print one line; whether the values are equal, and how many times as fast: the middle of three rounds."""
    lists = [[text] for text in references]
    tokenizers._chunk.cache_clear()
    rates, ratios, equal = [], [], True
    for _ in range(ROUNDS):
        slow, expected = timed(lambda: race.library(predictions[:SAMPLE], references[:SAMPLE], tokenizer))
        fast, found = timed(lambda: race.ours(predictions, lists, tokenizer=tokenizer))
        values = np.array(list(found.values.values())).T[:SAMPLE]
        equal = equal and np.array_equal(values, np.array(expected))
        rates.append((SAMPLE / slow, len(predictions) / fast))
        ratios.append(rates[-1][1] / rates[-1][0])
    ratio = sorted(ratios)[ROUNDS // 2]
    middle = rates[ratios.index(ratio)]
    print(
        f"  {race.name:21}{tokenizer:9}{middle[0]:9.0f}/s{middle[1]:9.0f}/s  {ratio:6.1f}x "
        f"({min(ratios):.0f}-{max(ratios):.0f}), goal {race.goal:.0f}x  values {'equal' if equal else 'DIFFER'}"
    )
    return equal, ratio


def main() -> int:
    """All races, both tokenizers, texts of one line (as papers' summaries are) and of three (where Lsum is not L)."""
    met = []
    print(f"{rouge.backend().name}; {PAIRS} pairs, the library on {SAMPLE} of them; pairs per second of one core")
    for lines in (1, 3):
        rng = random.Random(20261130)
        predictions, references = texts(rng, PAIRS, lines), texts(rng, PAIRS, lines)
        print(f"texts of {lines} line{'s' if lines > 1 else ''}")
        for race in RACES:
            for name in tokenizers.TOKENIZERS:
                equal, ratio = run(race, name, predictions, references)
                met.append(equal and (lines > 1 or ratio >= race.goal))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
