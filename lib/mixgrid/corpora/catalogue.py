"""What the catalogue (manifests/corpora.yaml) says about each corpus, as frozen objects.

    corpora:
      mixsarc:
        reader: table
        path: data/mixsarc.csv            # beside the catalogue, absolute, s3://…, or hf://datasets/org/name@commit/file
        licence: not published
        tasks: [implicit-meaning]
        columns: {item_id: id, text: text, split: split, flags: {humorous: Humorous, sarcastic: Sarcastic}}
        constants: {language: bn-en}
        values: {split: {val: validation}}

Columns whose names a release does not publish are declared here, never guessed in code.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from mixgrid.errors import UserError, allowed
from mixgrid.manifest import Frozen, Name
from mixgrid.yamlfile import read_yaml

CATEGORIES = (
    "answerable", "antonym", "entity-swap", "impossible-condition", "mutual-exclusion", "negation", "other",
    "unanswerable",
)  # fmt: skip
SWITCHING = ("dependency", "llm", "none", "phrase", "random")  # what an item's `switching` may be

REMOTE = re.compile(r"[\w+-]+://|(s3|hf):", re.IGNORECASE)  # a path that starts from no folder here

Scalar = Literal[
    "item_id", "source_id", "twin_id", "cluster_id", "split", "language", "switching", "variant", "text", "topic",
    "question", "category", "label", "domain",
]  # fmt: skip


class Distractors(Frozen):
    """How a question with an answer alone becomes a multiple choice."""

    column: str  # texts of which some, drawn by a hash, join the options; none that overlaps with the answer
    upto: Annotated[int, Field(ge=2)] = 4
    last: str = "No correct answer"  # stands after them in every question


class TokenColumns(Frozen):
    """Gold language tags of words: two columns that hold as many values, as lists or as text cut at white space."""

    form: str
    language: str
    tags: dict[str, str] = Field(default_factory=dict)  # the release's tag and ours; "" is no language, others stay


class Columns(Frozen):
    """Which column holds which field. In JSON a name may be a path: `choices.text`, `answers.0.text`.

    Without `source_id`, questions have the same source if they have the same dialogue; else an item is its own source.
    """

    item_id: str | None = None  # None: the row's number in its file, from 0
    source_id: str | None = None
    twin_id: str | None = None
    cluster_id: str | None = None
    split: str | None = None
    language: str | None = None
    switching: str | None = None
    variant: str | None = None
    text: str | None = None
    topic: str | None = None
    question: str | None = None
    category: str | None = None
    label: str | None = None
    domain: str | None = None
    options: list[str] = Field(
        default_factory=list
    )  # one column that holds a list, or several that hold one option each
    option_ids: str | None = None  # a list of ids (A, B, …) in the order of the options: then `label` is one of them
    distractors: Distractors | None = None
    references: list[str] = Field(default_factory=list)  # as with options, but empty ones are left out
    flags: dict[str, str] = Field(default_factory=dict)  # the flag's name and its column (yes/no, 1/0, true/false)
    dialogue: str | None = None  # `speaker: text` lines, or a list of turns
    speakers: str | None = None  # how many people speak in the dialogue: with more or fewer, the row is refused
    replies: str | None = None  # a list of links between turns by number: x is replied to by y
    spans: str | None = None  # a list of replaced spans
    tokens: TokenColumns | None = None


class SourceFile(Frozen):
    """One file of a corpus, and what its place says about its rows (`split`, `language`)."""

    path: str
    prefix: str = ""  # put before the ids in this file, where several files count from the same number
    columns: Columns | None = None  # instead of the corpus's map, where this file names its columns otherwise
    constants: dict[Scalar, str] = Field(default_factory=dict)


class DeclaredCount(Frozen):
    """Sizes as published, for `plan --estimate`: `items` is the number in each of the languages × methods named."""

    split: str
    languages: list[str]
    switching: list[str]
    items: Annotated[int, Field(ge=1)]
    clusters: Annotated[int, Field(ge=1)] | None = None
    words: Annotated[float, Field(gt=0)] | None = None  # mean words in an item's text


class CorpusEntry(Frozen):
    """One corpus of the catalogue."""

    reader: str
    path: str | None = None  # one file; several: `files`
    files: list[SourceFile] = Field(default_factory=list)
    licence: str
    tasks: list[str]
    format: Literal["conllu", "csv", "tsv", "json", "jsonl", "parquet"] | None = None  # None: by the file's ending
    quoting: Literal["minimal", "none"] = "minimal"  # none: a quotation mark in csv or tsv is text like any other
    records: str = ""  # json: the path to the rows, such as `data.dialogues.qas`; a row inherits what it lies in
    columns: Columns = Columns()
    constants: dict[Scalar, str] = Field(default_factory=dict)
    values: dict[Scalar, dict[str, str]] = Field(default_factory=dict)  # the release's spelling of a value and ours
    bad_rows: Literal["refuse", "skip"] = "refuse"
    counts: list[DeclaredCount] = Field(default_factory=list)
    obtain: str = ""  # shown where a file is not there: how to get it

    @model_validator(mode="after")
    def _one_way_to_name_files(self) -> Self:
        if (self.path is None) == (not self.files):
            raise ValueError("give either `path` (one file) or `files` (several)")
        return self


@dataclass(frozen=True)
class Corpus:
    """An entry with its name and the file that declares it, from which its paths start."""

    name: str
    entry: CorpusEntry
    declared_in: Path

    @property
    def sources(self) -> list[SourceFile]:
        """The corpus's files, local paths made absolute."""
        files = self.entry.files or [SourceFile(path=str(self.entry.path))]
        return [f.model_copy(update={"path": self._located(f.path)}) for f in files]

    @property
    def where(self) -> str:
        """The beginning of an error sentence about this entry."""
        return f"{self.declared_in}: corpus '{self.name}'"

    def _located(self, path: str) -> str:
        return path if REMOTE.match(path) else str((self.declared_in.parent / Path(path).expanduser()).resolve())


class _Catalogue(Frozen):
    corpora: dict[Name, CorpusEntry]


def load_corpora(path: str | Path) -> dict[str, Corpus]:
    """The corpus catalogue in a YAML file."""
    entries = read_yaml(path, _Catalogue).corpora
    return {name: Corpus(name, entry, Path(path).absolute()) for name, entry in entries.items()}


def corpus(catalogue: Mapping[str, Corpus], name: str, where: str) -> Corpus:
    """A corpus of the catalogue; `where` says which file and key named it."""
    if name not in catalogue:
        raise UserError(f"{where}: there is no corpus {name!r}; {allowed(name, catalogue)}")
    return catalogue[name]
