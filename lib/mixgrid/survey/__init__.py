"""Surveys: corpora → what every item measures, and what every slice of them does; human and written ones together.

    samples_of(items) + written(grid) → survey(store, samples, options) → report/

All of it lies in the store under what it was made from, and is made once:

    <namespace>/surveys/<id>/rows-….parquet          one row an item: its languages as runs, and every measure
    <namespace>/surveys/<id>/measures-….parquet      one row a slice, measure and level
    <namespace>/surveys/<id>/survey.json             what it was made from
    <namespace>/surveys/<id>/{index.html, tables/, plots/}     what `mixgrid describe` writes
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import mixgrid
from mixgrid.describe import MEASURES, SIGNATURE, tagger
from mixgrid.describe.counting import WORDS, TokenCounter
from mixgrid.describe.rows import Describer, Row, Sample
from mixgrid.describe.semantics import SentenceEncoder
from mixgrid.describe.summary import Measured, summarise
from mixgrid.languages import TOKENIZER
from mixgrid.schemas import digest, to_table
from mixgrid.store import Store
from mixgrid.survey.shards import described

VERSION = 1


@dataclass(frozen=True)
class Options:
    """How a survey is made."""

    tags: str | None = None  # what tells the languages of words; None: gold tags or spans, where the items have them
    tokenizer: str = WORDS
    encoder: str | None = None  # for semantic preservation; None: it is not measured
    namespace: str = "main"
    on_ray: bool = False


@dataclass(frozen=True)
class Survey:
    """What was measured."""

    id: str
    folder: str
    corpora: tuple[str, ...]  # in the order in which they were named
    rows: tuple[Row, ...]
    measured: tuple[Measured, ...]
    signature: str
    warnings: tuple[str, ...]


def survey(store: Store, samples: Sequence[Sample], options: Options) -> Survey:
    """Measure the samples, or find what an earlier call measured. UserError before anything is written."""
    store.check()
    describer = _describer(samples, options)
    signature = signature_of(describer)
    ordered = sorted(samples, key=lambda sample: (sample.item.corpus, sample.item.item_id))
    made_from = [[digest(sample.item), sample.twin] for sample in ordered]
    survey_id = digest([VERSION, signature, made_from])[:12]
    folder = f"{options.namespace}/surveys/{survey_id}"
    rows = described(store, folder, ordered, describer, options.on_ray)
    measured = summarise(rows, MEASURES, signature)
    corpora = tuple(dict.fromkeys(sample.item.corpus for sample in samples))
    store.put_table(folder, "measures", to_table(Measured, measured))
    store.put_json(
        f"{folder}/survey.json",
        {"corpora": corpora, "items": len(rows), "signature": signature, "mixgrid": mixgrid.__version__},
    )
    return Survey(survey_id, folder, corpora, tuple(rows), tuple(measured), signature, tuple(_warnings(rows)))


def signature_of(describer: Describer) -> str:
    """All that values depend on besides the items; loads the models that it names."""
    tags = describer.tagger.signature if describer.tagger else "none"
    encoder = describer.encoder.signature if describer.encoder else "none"
    tokens = describer.counter.signature
    return f"describe-{VERSION}|tags:{tags}|{SIGNATURE}|tok:{TOKENIZER}|tokens:{tokens}|encoder:{encoder}"


def _describer(samples: Sequence[Sample], options: Options) -> Describer:
    name = options.tags or _own_tags(samples)
    found = tagger(name) if name else None
    if found:
        found.check({sample.item.language for sample in samples})
    encoder = SentenceEncoder(options.encoder) if options.encoder else None
    return Describer(MEASURES, found, TokenCounter(options.tokenizer), encoder)


def _own_tags(samples: Sequence[Sample]) -> str | None:
    """The tags that the corpora carry: people's, else the spans of what was generated."""
    if any(sample.item.tokens for sample in samples):
        return "gold"
    return "spans" if any(sample.item.spans for sample in samples) else None


def _warnings(rows: Sequence[Row]) -> list[str]:
    """Items whose mixing was not measured, by corpus and reason."""
    lacking = Counter((row.item.corpus, row.item.untagged) for row in rows if row.item.untagged)
    total = Counter(row.item.corpus for row in rows)
    remedy = "name a source with --tags: lingua, or words:FILE"
    return [
        f"{corpus}: mixing is not measured for {count} of {total[corpus]} items ({why}); {remedy}"
        for (corpus, why), count in sorted(lacking.items())
    ]
