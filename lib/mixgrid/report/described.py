"""What a survey measured as tables: in the layouts of the papers, and whole for programs.

Two forms of CMI stand side by side where PINGPONG prints one, because what it prints fits only the un-halved one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property

from mixgrid.describe import MEASURES
from mixgrid.describe.base import Level
from mixgrid.describe.summary import ALL, Measured
from mixgrid.report.table import NOWHERE, Table, plain_field
from mixgrid.survey import Survey

PER_DIALOGUE = {
    "turns": "Avg. turns", "words": "Avg. words", "tokens": "Avg. tokens", "cmi_unhalved": "Avg. CMI (un-halved)",
    "cmi": "Avg. CMI (2014)", "spf": "Avg. SPF",
}  # fmt: skip
PATTERNS = {
    "length_variance": "Avg. length variance (tokens)",
    "replies": "Total replies",
    "reply_distance": "Avg. degree of reply distance",
    "imbalance": "Avg. imbalance ratio of speaker turns",
    "consecutive": "Avg. consecutive messages",
    "cmi_unhalved": "Avg. CMI (un-halved)",
    "spf": "Avg. SPF",
}
MIXING = (
    "cmi", "cmi_2016", "spf", "switch_points", "m_index", "i_index", "language_entropy", "burstiness", "span_entropy",
    "words", "ttr", "mattr", "mtld", "semantic",
)  # fmt: skip
TOTALS = ("replies",)  # shown as a sum, the others as a mean


class Book:
    """A survey's values by what they are about; a corpus with several splits counts as several."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.by_key = {
            (m.corpus, m.split, m.language, m.switching, m.speakers, m.measure, m.level): m for m in survey.measured
        }

    @cached_property
    def populations(self) -> list[tuple[str, str]]:
        """Corpus and split, in the order in which the corpora were named."""
        there = {(m.corpus, m.split) for m in self.survey.measured}
        return sorted(there, key=lambda key: (self.survey.corpora.index(key[0]), key[1]))

    def find(
        self, population: tuple[str, str], language: str, switching: str, speakers: int, measure: str, level: Level
    ) -> Measured | None:
        """One value, if it was measured."""
        return self.by_key.get((*population, language, switching, speakers, measure, level))

    def languages(self, populations: Iterable[tuple[str, str]]) -> list[str]:
        """The languages of some populations, sorted."""
        wanted = set(populations)
        return sorted({m.language for m in self.survey.measured if (m.corpus, m.split) in wanted} - {ALL})

    def switching(self, population: tuple[str, str], language: str) -> list[str]:
        """The methods of a language, originals first."""
        there = {
            m.switching for m in self.survey.measured if (m.corpus, m.split, m.language) == (*population, language)
        }
        return sorted(there - {ALL}, key=lambda method: (method != "none", method))

    @cached_property
    def sizes(self) -> list[int]:
        """The numbers of speakers of the dialogues."""
        return sorted({m.speakers for m in self.survey.measured} - {0})


def survey_tables(survey: Survey) -> list[Table]:
    """Every table that the survey has values for."""
    book = Book(survey)
    spoken = [p for p in book.populations if book.find(p, ALL, ALL, 0, "turns", "item")]
    found = [_dialogues(book, spoken), _patterns(book, spoken), _full_patterns(book, spoken)] if spoken else []
    found += [_mixing(book, p) for p in book.populations if p not in spoken]
    return [*found, *(_levels(book, p) for p in book.populations if book.find(p, ALL, ALL, 0, "cmi", "corpus"))]


def every_measure(survey: Survey) -> Table:
    """All fields of all values, unrounded, for programs."""
    names = tuple(f.name for f in fields(Measured))
    rows = tuple(tuple(plain_field(getattr(m, name)) for name in names) for m in survey.measured)
    return Table("all-measures", "All measures", "unrounded", names, rows, labels=len(names))


def _named(population: tuple[str, str]) -> str:
    return " · ".join(population)


def _dialogues(book: Book, spoken: Sequence[tuple[str, str]]) -> Table:
    """PINGPONG, Table 3: one row a combination and corpus."""
    rows = []
    for language in book.languages(spoken):
        for population in spoken:
            turns = book.find(population, language, ALL, 0, "turns", "item")
            if turns:
                values = [book.find(population, language, ALL, 0, name, "item") for name in PER_DIALOGUE]
                rows.append((language, _named(population), str(turns.n), *(_number(value, 3) for value in values)))
    caption = f"means over dialogues, each measured as one text; {_made_by(book)}"
    header = ("Lang.", "corpus", "#Dialogue", *PER_DIALOGUE.values())
    return Table("pingpong-table-3", "PINGPONG, Table 3", caption, header, tuple(rows), labels=2)


def _patterns(book: Book, spoken: Sequence[tuple[str, str]]) -> Table:
    """PINGPONG, Table 4: by number of speakers, averaged over the combinations of languages."""
    rows = []
    for size in book.sizes:
        counts = {p: [book.find(p, lang, ALL, size, "turns", "item") for lang in book.languages([p])] for p in spoken}
        sizes = (sum(one.n for one in own if one) for own in counts.values())
        rows.append((f"{size} speakers", "dialogues", *(str(n) if n else NOWHERE for n in sizes)))
        for name, title in PATTERNS.items():
            cells = (_average(book, p, size, name) for p in spoken)
            rows.append((f"{size} speakers", title, *cells))
    caption = f"means over the combinations of languages of each one's mean over dialogues; {_made_by(book)}"
    header = ("speakers", "measure", *map(_named, spoken))
    return Table("pingpong-table-4", "PINGPONG, Table 4", caption, header, tuple(rows), labels=2)


def _average(book: Book, population: tuple[str, str], size: int, name: str) -> str:
    found = [book.find(population, lang, ALL, size, name, "item") for lang in book.languages([population])]
    values = [value for one in found if one and (value := _shown(one)) is not None]
    return f"{sum(values) / len(values):.{1 if name in TOTALS else 3}f}" if values else NOWHERE


def _full_patterns(book: Book, spoken: Sequence[tuple[str, str]]) -> Table:
    """PINGPONG, Table 20: the same for each combination."""
    columns = [(language, p) for language in book.languages(spoken) for p in spoken if language in book.languages([p])]
    rows = []
    for size in book.sizes:
        counts = (book.find(p, language, ALL, size, "turns", "item") for language, p in columns)
        rows.append((f"{size} speakers", "dialogues", *(str(one.n) if one else NOWHERE for one in counts)))
        for name, title in PATTERNS.items():
            cells = (book.find(p, language, ALL, size, name, "item") for language, p in columns)
            rows.append((f"{size} speakers", title, *(_number(cell, 3) for cell in cells)))
    header = ("speakers", "measure", *(f"{language} · {_named(p)}" for language, p in columns))
    caption = f"means over dialogues; a dialogue without replies has a distance of 0; {_made_by(book)}"
    return Table("pingpong-table-20", "PINGPONG, Table 20", caption, header, tuple(rows), labels=2)


def _mixing(book: Book, population: tuple[str, str]) -> Table:
    """CS-SeLeRoSa, Table 14: one row a language and method; what nobody measured has no column."""
    slices = [(lang, method) for lang in book.languages([population]) for method in book.switching(population, lang)]
    found = {
        (lang, method, name): book.find(population, lang, method, 0, name, "item")
        for lang, method in slices
        for name in MIXING
    }
    names = [name for name in MIXING if any(found[lang, method, name] for lang, method in slices)]
    rows = []
    for lang, method in slices:
        own = [found[lang, method, name] for name in names]
        size = max((one.n + one.undefined for one in own if one), default=0)
        rows.append((lang, method, str(size), *map(_spread, own)))
    caption = f"means over texts ± sample sd; {NOWHERE}: not measured, or not defined; {_made_by(book)}"
    header = ("language", "method", "n", *(f"{MEASURES[name].title}" for name in names))
    name = "-".join(("mixing", *population))
    return Table(name, f"{_named(population)}: mixing by language and method", caption, header, tuple(rows), labels=2)


def _levels(book: Book, population: tuple[str, str]) -> Table:
    """The same measure by utterance, by item and of the whole corpus: three numbers that papers call by one name."""
    levels: tuple[Level, ...] = ("utterance", "item", "corpus")
    rows = []
    for name, measure in MEASURES.items():
        own = [book.find(population, ALL, ALL, 0, name, level) for level in levels]
        if measure.group in ("mixing", "corpus") and any(own):
            rows.append((measure.title, measure.unit, *(_number(one, 4) for one in own)))
    caption = (
        "utterance: mean over turns or texts; item: mean over items, a dialogue as one text; corpus: of all texts "
        f"joined; {_made_by(book)}"
    )
    header = ("measure", "range", *levels)
    name = "-".join(("levels", *population))
    return Table(name, f"{_named(population)}: mixing by level", caption, header, tuple(rows), labels=2)


def _shown(measured: Measured) -> float | None:
    return measured.total if measured.measure in TOTALS else measured.value


def _number(measured: Measured | None, digits: int) -> str:
    value = None if measured is None else _shown(measured)
    if value is None:
        return NOWHERE
    return f"{value:g}" if measured and measured.measure in TOTALS else f"{value:.{digits}f}"


def _spread(measured: Measured | None) -> str:
    text = _number(measured, 2)
    return text if measured is None or measured.sd is None else f"{text} ± {measured.sd:.2f}"


def _made_by(book: Book) -> str:
    """The sources that a reader must know; the whole signature stands below."""
    named: Mapping[str, str] = dict(
        part.split(":", 1) for part in book.survey.signature.split("|") if part.startswith(("tags:", "tokens:"))
    )
    return f"languages by {named['tags']}, tokens by {named['tokens']}"
