"""The shape of a dialogue: how long, how even, how far back its replies reach (PINGPONG §3.4, Tables 3, 4 and 20).

A distance is counted in turns between a reply and what it replies to; a dialogue without replies has a mean of 0, as in
the paper, whose tables give 0.02 for one reply in 50 dialogues. Speakers are those who say something.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from mixgrid.describe.base import Conversation
from mixgrid.records import Turn

VERSION = 1
SIGNATURE = f"dialogue-{VERSION}(length-variance:ddof0, no-replies:0)"


def turns(said: Conversation) -> float:
    """Messages."""
    return float(len(said.turns))


def tokens(said: Conversation) -> float:
    """Tokens of all turns, by the tokenizer of the signature."""
    return float(sum(said.tokens))


def speakers(said: Conversation) -> float:
    """Those who say something."""
    return float(len(_turns_of(said)))


def replies(said: Conversation) -> float:
    """Turns that say which one they reply to."""
    return float(len(reply_distances(said.turns)))


def reply_distance(said: Conversation) -> float:
    """Mean distance of the replies; 0 where there are none."""
    found = reply_distances(said.turns)
    return sum(found) / len(found) if found else 0.0


def imbalance(said: Conversation) -> float | None:
    """Turns of the speaker with the most over those of the one with the fewest; not defined for a monologue."""
    counts = _turns_of(said)
    return max(counts.values()) / min(counts.values()) if len(counts) > 1 else None


def imbalance_mean(said: Conversation) -> float | None:
    """Turns of the speaker with the most over the mean; not defined for a monologue."""
    counts = _turns_of(said)
    return max(counts.values()) * len(counts) / len(said.turns) if len(counts) > 1 else None


def length_variance(said: Conversation) -> float | None:
    """Variance of the tokens of a turn, over all turns (divided by their number)."""
    return _variance(said.tokens, 0)


def length_variance_sample(said: Conversation) -> float | None:
    """Variance of the tokens of a turn, as of a sample (divided by one less)."""
    return _variance(said.tokens, 1)


def consecutive(said: Conversation) -> float:
    """Turns whose speaker also said the one before."""
    return float(sum(before.speaker == after.speaker for before, after in pairwise(said.turns)))


def reply_distances(said: Sequence[Turn]) -> list[int]:
    """The distance of each reply, in the order of the turns."""
    place = {turn.turn_id: at for at, turn in enumerate(said)}
    return [abs(at - place[turn.reply_to]) for at, turn in enumerate(said) if turn.reply_to is not None]


def _turns_of(said: Conversation) -> Counter[str]:
    return Counter(turn.speaker for turn in said.turns)


def _variance(values: Sequence[int], ddof: int) -> float | None:
    if len(values) <= ddof:
        return None
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - ddof)
