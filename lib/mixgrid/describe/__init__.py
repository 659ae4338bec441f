"""Descriptions of a corpus: what can be measured of its texts, and what can tell the languages of their words.

>>> from mixgrid.describe import MEASURES
>>> from mixgrid.describe.base import Mix
>>> MEASURES["cmi"].of(Mix.of(["ro", "en", "", "ro", "ro"]))
25.0
"""

from collections.abc import Mapping

from mixgrid.describe import dialogue, lexical, mixing, semantics
from mixgrid.describe.base import Measure
from mixgrid.describe.detectors import Lingua, WordLists
from mixgrid.describe.tags import Gold, Spans, Tagger
from mixgrid.errors import UserError, allowed

_ONE_RUN = "fewer than two runs of one language"
_NO_TAGS = "no word has a language"
_NO_WORDS = "no words"
_MONOLOGUE = "one speaker"

MEASURES: Mapping[str, Measure] = {
    "burstiness": Measure(mixing.burstiness, "mixing", "Burstiness", "-1 to 1", _ONE_RUN),
    "cmi": Measure(mixing.cmi, "mixing", "CMI (2014)", "0 to 100"),
    "cmi_2016": Measure(mixing.cmi_2016, "mixing", "CMI (2016)", "0 to 100"),
    "cmi_2016_corpus": Measure(mixing.cmi_2016_corpus, "corpus", "CMI (2016, corpus)", "from 0", "no utterance"),
    "cmi_unhalved": Measure(mixing.cmi_unhalved, "mixing", "CMI (un-halved)", "0 to 2"),
    "consecutive": Measure(dialogue.consecutive, "dialogue", "Consecutive messages", "turns"),
    "i_index": Measure(mixing.i_index, "mixing", "I-index", "0 to 1"),
    "imbalance": Measure(dialogue.imbalance, "dialogue", "Imbalance (max/min turns)", "from 1", _MONOLOGUE),
    "imbalance_mean": Measure(dialogue.imbalance_mean, "dialogue", "Imbalance (max/mean turns)", "from 1", _MONOLOGUE),
    "language_entropy": Measure(mixing.language_entropy, "mixing", "Language entropy", "bits", _NO_TAGS),
    "length_variance": Measure(dialogue.length_variance, "dialogue", "Length variance", "tokens²"),
    "length_variance_sample": Measure(
        dialogue.length_variance_sample, "dialogue", "Length variance (n-1)", "tokens²", "one turn"
    ),
    "m_index": Measure(mixing.m_index, "mixing", "M-index", "0 to 1", _NO_TAGS),
    "mattr": Measure(lexical.mattr, "lexical", f"MATTR ({lexical.WINDOW})", "0 to 1", _NO_WORDS),
    "memory": Measure(mixing.memory, "mixing", "Memory", "-1 to 1", "runs whose lengths do not vary"),
    "mtld": Measure(lexical.mtld, "lexical", "MTLD", "words", _NO_WORDS),
    "replies": Measure(dialogue.replies, "dialogue", "Replies", "turns"),
    "reply_distance": Measure(dialogue.reply_distance, "dialogue", "Reply distance", "turns"),
    "semantic": Measure(semantics.preservation, "semantics", "Semantic preservation", "-1 to 1", "no twin"),
    "span_entropy": Measure(mixing.span_entropy, "mixing", "Span entropy", "bits", _ONE_RUN),
    "speakers": Measure(dialogue.speakers, "dialogue", "Speakers", "people"),
    "spf": Measure(mixing.spf, "mixing", "SPF", "0 to 1"),
    "spf_all_words": Measure(mixing.spf_all_words, "mixing", "SPF (all words)", "0 to 1"),
    "switch_points": Measure(mixing.switch_points, "mixing", "Switch points", "places"),
    "switch_points_adjacent": Measure(
        mixing.switch_points_adjacent, "mixing", "Switch points (adjacent words)", "places"
    ),
    "tokens": Measure(dialogue.tokens, "dialogue", "Tokens", "tokens"),
    "ttr": Measure(lexical.ttr, "lexical", "TTR", "0 to 1", _NO_WORDS),
    "turns": Measure(dialogue.turns, "dialogue", "Turns", "turns"),
    "words": Measure(lexical.count, "lexical", "Words", "words"),
}

# What tells the language of a word; `words` names its file: words:FILE.
TAGGERS: Mapping[str, type[Tagger]] = {"gold": Gold, "lingua": Lingua, "spans": Spans, "words": WordLists}
SIGNATURE = "|".join((mixing.SIGNATURE, lexical.SIGNATURE, dialogue.SIGNATURE))


def tagger(name: str) -> Tagger:
    """The tagger of a `--tags` value; word lists are read here."""
    kind, colon, path = name.partition(":")
    if kind not in TAGGERS or bool(path) != (kind == "words") or bool(colon) != bool(path):
        names = [f"{known}:FILE" if known == "words" else known for known in TAGGERS]
        raise UserError(f"--tags {name!r} is no source of language tags; {allowed(name, names)}")
    return WordLists.read(path) if kind == "words" else TAGGERS[kind]()
