"""How much and how often a text mixes languages (Gambäck & Das 2014, 2016; Guzmán et al. 2017; Pratapa et al. 2018).

N words with a language, n words in all, P switch points, k languages, p_i their shares, m and s the mean and the sample
sd of the lengths of runs in one language. A text without a tagged word mixes nothing (0); what is about the spread of
its languages is not defined there.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from mixgrid.describe.base import Mix

VERSION = 1
SIGNATURE = f"mixing-{VERSION}(switches:skip-neutral, borders:not-adjacent, burstiness:ddof1, delta:within-item)"


def cmi(mix: Mix) -> float:
    """CMI of 2014: 100 (1 - max/N); at most 100 (1 - 1/k)."""
    return 100 * (1 - mix.dominant / mix.tagged) if mix.tagged else 0.0


def cmi_2016(mix: Mix) -> float:
    """CMI of 2016 of one utterance: 100 (N - max + P) / 2N (equation 11 with both weights 1/2)."""
    return 100 * (mix.tagged - mix.dominant + mix.switches) / (2 * mix.tagged) if mix.tagged else 0.0


def cmi_unhalved(mix: Mix) -> float:
    """(N - max + P) / N, 0 to below 2: the only form that fits all values that PINGPONG prints."""
    return (mix.tagged - mix.dominant + mix.switches) / mix.tagged if mix.tagged else 0.0


def cmi_2016_corpus(items: Iterable[Sequence[Mix]]) -> float | None:
    """CMI of 2016 of a corpus: 100/U (1/2 Σ (1 - (max - P)/N + δ) + 5/6 S); its (max + P) in print is a slip of sign.

    U utterances; S of them hold a switch; δ is 1 where the commonest language is not that of the utterance before it in
    the same item. An utterance without a tagged word adds 0 to the sum.
    """
    utterances = switched = 0
    total = 0.0
    for mixes in items:
        utterances += len(mixes)
        switched += sum(mix.switches > 0 for mix in mixes)
        total += sum(1 - (mix.dominant - mix.switches) / mix.tagged for mix in mixes if mix.tagged)
        matrices = [mix.matrix for mix in mixes if mix.tagged]
        total += sum(before != after for before, after in pairwise(matrices))
    return 100 / utterances * (total / 2 + 5 / 6 * switched) if utterances else None


def spf(mix: Mix) -> float:
    """Switch-point fraction: P / (N - 1), neutral words passed over; 0 for fewer than two tagged words."""
    return mix.switches / (mix.tagged - 1) if mix.tagged > 1 else 0.0


def spf_all_words(mix: Mix) -> float:
    """P / (n - 1): neutral words count as places where the language could have changed."""
    return mix.switches / (mix.words - 1) if mix.words > 1 else 0.0


def switch_points(mix: Mix) -> float:
    """P: times the language changes, neutral words passed over."""
    return float(mix.switches)


def switch_points_adjacent(mix: Mix) -> float:
    """Times the language changes between two words that stand side by side."""
    return float(mix.adjacent)


def m_index(mix: Mix) -> float | None:
    """(1 - Σp²) / ((k - 1) Σp²): 0 in one language, 1 where all k are equally common."""
    if not mix.tagged or mix.parts < 2:
        return None
    squares = sum((n / mix.tagged) ** 2 for n in mix.counts.values())
    return (1 - squares) / ((mix.parts - 1) * squares)


def i_index(mix: Mix) -> float:
    """Probability that the language changes at a place between words: SPF of the joined text."""
    return spf(mix)


def language_entropy(mix: Mix) -> float | None:
    """-Σ p log2 p over languages, in bits."""
    return _entropy(mix.counts) if mix.tagged else None


def span_entropy(mix: Mix) -> float | None:
    """-Σ p log2 p over the lengths of runs, in bits."""
    return _entropy(Counter(mix.lengths)) if len(mix.lengths) > 1 else None


def burstiness(mix: Mix) -> float | None:
    """(s - m) / (s + m) of the lengths of runs: -1 as a clock, 0 at random, towards 1 in bursts."""
    if len(mix.lengths) < 2:
        return None
    mean = _mean(mix.lengths)
    spread = math.sqrt(sum((n - mean) ** 2 for n in mix.lengths) / (len(mix.lengths) - 1))
    return (spread - mean) / (spread + mean)


def memory(mix: Mix) -> float | None:
    """Correlation of each run's length with the next one's; not defined where either side does not vary."""
    first, second = mix.lengths[:-1], mix.lengths[1:]
    if len(first) < 2 or len(set(first)) < 2 or len(set(second)) < 2:
        return None
    a, b = _mean(first), _mean(second)
    both = sum((x - a) * (y - b) for x, y in pairwise(mix.lengths))
    value = both / math.sqrt(sum((x - a) ** 2 for x in first) * sum((y - b) ** 2 for y in second))
    return min(1.0, max(-1.0, value))


def _entropy(counts: Counter[str] | Counter[int]) -> float:
    total = counts.total()
    return abs(sum(n / total * math.log2(n / total) for n in counts.values()))


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values)
