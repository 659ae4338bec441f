"""YAML at the door: a grid's manifest and the model catalogue beside it, as frozen objects.

    manifest = load("manifests/smoke.yaml")     # UserError: file, key, value, what would be right

Unknown keys are refused with the nearest name; values that cannot be right (top_k 0.2, temperature -1) never get past
this file. Whether a task, language or split exists is checked by plan.py, which can see them.
"""

import re
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
)

from mixgrid.errors import UserError, allowed
from mixgrid.records import Sampling
from mixgrid.yamlfile import read_yaml

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]  # safe in a store key
MOST_SEEDS = 1000  # each is a run with its own frozen plan; nobody has wanted more than a few dozen
Seed = Annotated[int, Field(ge=0, lt=2**31)]


def _decimal(value: object) -> object:
    """The number as it was written: 0.1 is a tenth, not the nearest binary fraction."""
    try:
        return Decimal(str(value)) if isinstance(value, int | float | str) and not isinstance(value, bool) else value
    except InvalidOperation:
        raise ValueError("it is no number") from None


Number = Annotated[Decimal, BeforeValidator(_decimal), Field(ge=0, allow_inf_nan=False)]
Usd = Annotated[Number, Field(gt=0)]


class Frozen(BaseModel):
    """Frozen, strict about its keys and its types (YAML's `yes` is no string, 0.2 no integer)."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SamplingFields(Frozen):
    """Decoding fields; what is left out keeps the value below it (engine default, model, manifest)."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=1, le=1_000_000)] | None = None  # no vocabulary has more tokens than that
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    repetition_penalty: Annotated[float, Field(gt=0, le=2)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    stop: list[Annotated[str, StringConstraints(min_length=1)]] | None = None
    regex: Annotated[str, StringConstraints(min_length=1)] | None = None

    @field_validator("regex")
    @classmethod
    def _compiles(cls, regex: str | None) -> str | None:
        """Python's dialect is not the engine's to the last letter, but what it refuses would end the engine."""
        try:
            re.compile(regex or "")
        except re.error as error:
            raise ValueError(f"no regular expression: {error}") from None
        return regex

    def over(self, below: Sampling) -> Sampling:
        """`below` with the fields that are set here."""
        given = {name: getattr(self, name) for name in Sampling.__dataclass_fields__}
        given["stop"] = None if self.stop is None else tuple(self.stop)
        fields = {name: value for name, value in given.items() if value is not None}
        return Sampling(**{**vars(below), **fields})


class SamplingOverride(SamplingFields):
    """Decoding fields for the part of the grid that the selectors name; later entries win."""

    model: str | None = None
    task: str | None = None
    setting: str | None = None

    def applies(self, model: str, task: str, setting: str) -> bool:
        """Whether the entry's selectors take in this run."""
        pairs = ((self.model, model), (self.task, task), (self.setting, setting))
        return all(wanted in (None, value) for wanted, value in pairs)


class PriceEntry(Frozen):
    """A declared price in USD per million tokens; it wins over the price list."""

    input: Number
    output: Number  # reasoning is billed as output
    cached_input: Number | None = None  # None: as input
    batch_discount: Annotated[Number, Field(le=1)] = Decimal("0.5")
    as_of: date | None = None  # the day on which you read it


class Api(Frozen):
    """How a served model is reached, and the quirks of what serves it."""

    url: str = "https://api.openai.com/v1"
    key_env: str | None = "OPENAI_API_KEY"  # the variable that holds the key; null: the server wants none
    providers: Annotated[list[str], Field(min_length=1)] | None = None  # OpenRouter: only these, in this order
    limit_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    leaves_out: list[
        Literal["temperature", "top_p", "seed", "stop", "presence_penalty", "frequency_penalty", "reasoning_effort"]
    ] = []
    response_format: dict[str, Any] | None = None  # JSON mode or a schema, as the server takes it
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None  # over all replicas; None: as the headers say
    tokens_per_minute: Annotated[int, Field(ge=1)] | None = None
    concurrency: Annotated[int, Field(ge=1)] = 64  # requests at a time, at most, over all replicas
    timeout_s: Annotated[float, Field(gt=0)] = 600.0  # of one answer, from sending to its last byte
    tries: Annotated[int, Field(ge=1)] = 6  # of a request, refusals for its rate aside
    patience_s: Annotated[float, Field(ge=0)] = 900.0  # that a request waits through refusals for its rate
    poll_s: Annotated[float, Field(gt=0)] = 30.0  # between two looks at a batch

    @property
    def changes_answers(self) -> tuple[object, ...]:
        """What is part of a request's identity: the rest says how it gets there and back."""
        return self.url, self.providers, sorted(self.leaves_out), self.response_format


class ModelEntry(Frozen):
    """One model of the catalogue (manifests/models.yaml)."""

    engine: str
    checkpoint: str  # hub id, local folder, `package:NAME`, or an API's model name
    revision: str | None = None
    adapter: str | None = None
    context_length: Annotated[int, Field(ge=16)]
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    quantization: str | None = None
    chat_template: str | None = None  # replaces the checkpoint's own; models.yaml names a file, here is its text
    chat_template_args: dict[str, bool | str] = {}
    thinking_switch: str | None = None  # the template argument that turns reasoning on and off
    system_role: bool = True
    sampling: dict[str, SamplingFields] = {}  # `default`, over it TASK, over that TASK/thinking
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None  # of an API
    languages: list[str] | None = None  # a regional model's own combinations; None: all
    gpus: dict[str, int] = {}  # GPUs needed, by kind
    engine_args: dict[str, bool | int | float | str | list[str]] = {}  # of speed and memory, never of answers
    api: Api | None = None  # of the engines that ask a server; None: OpenAI's own
    price: PriceEntry | Literal["free"] | None = None  # free: a server of your own; None: the price list's
    note: str = ""

    def template_arguments(self, thinking: bool | None) -> dict[str, bool | str]:
        """What the chat template is given; a setting's thinking goes by the model's own switch, if it has one."""
        switched = {self.thinking_switch: thinking} if self.thinking_switch and thinking is not None else {}
        return {**self.chat_template_args, **switched}

    @field_validator("chat_template")
    @classmethod
    def _read(cls, name: str | None, info: ValidationInfo) -> str | None:
        """The file's text, from the catalogue's own place: workers, and other folders, have no such file."""
        if name is None or info.context is None:
            return name
        try:
            return Path(info.context, Path(name).expanduser()).read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise ValueError(f"no readable file beside models.yaml ({why}); mend the path") from None


class Resources(Frozen):
    """What one model gets of the cluster."""

    replicas: Annotated[int, Field(ge=1)] = 1
    gpus: Annotated[int, Field(ge=0)] = 1  # per replica; a cluster without GPUs runs the replica on CPUs
    cpus: Annotated[float, Field(gt=0)] = 1.0
    batch_size: Annotated[int, Field(ge=1, le=100_000)] = 256  # requests in a part, which an engine's node holds whole
    batches_in_flight: Annotated[int, Field(ge=1)] = 4  # per replica, so that the engine never waits for a part
    hung_after_s: Annotated[float, Field(gt=0)] = 1800.0  # without a finished row, an engine is ended
    restarts: Annotated[int, Field(ge=0)] = 24  # of engines, in one call; a row that kills them takes about five


class CorpusChoice(Frozen):
    """A corpus of manifests/corpora.yaml and the split that the grid takes."""

    name: Name
    split: str = "test"


class Comparison(Frozen):
    """A declared comparison of two sides that differ in one thing."""

    family: str = "main"
    metric: str | None = None
    a: dict[str, str]
    b: dict[str, str]


class Budget(Frozen):
    """What a sweep of paid models may spend, in USD; every cap holds at every moment."""

    usd: Usd
    day: Usd | None = None  # in one UTC day
    models: dict[str, Usd] = {}


class BertScore(Frozen):
    """The encoder that summaries are embedded by: BERTScore is scored where one is declared."""

    model: Annotated[str, StringConstraints(min_length=1)]  # a hub name, or a folder (beside the manifest)
    layers: Annotated[int, Field(ge=0)] = 0  # 0: bert-score's own choice for that name
    batch_size: Annotated[int, Field(ge=1)] = 64
    baseline: Annotated[list[Annotated[float, Field(lt=1)]], Field(min_length=3, max_length=3)] | None = None  # P, R, F


class Metrics(Frozen):
    """How answers are scored, where there is a choice; statistics that this changes are made anew."""

    unparsed: Literal["labels", "wrong", "drop"] = "labels"  # an error of its class; a false alarm too; not counted
    failed: Literal["labels", "wrong", "drop"] = "labels"
    references: Literal["max", "mean"] = "max"  # of several references
    bertscore: BertScore | None = None


class LeaveOut(Frozen):
    """Runs that the product of a grid has and the grid does not: those that every list given here takes in."""

    corpora: list[str] | None = None
    tasks: list[str] | None = None
    models: list[str] | None = None
    settings: list[str] | None = None
    seeds: list[Seed] | None = None

    def takes_in(self, corpus: str, task: str, model: str, setting: str, seed: int) -> bool:
        """Whether the run is one of those."""
        run = (corpus, task, model, setting, seed)
        return all(given is None or value in given for (_, given), value in zip(self, run, strict=True))


def _own_folder(namespace: str) -> str:
    if namespace in ("corpora", "prompts"):
        raise ValueError("the store keeps that folder for what all namespaces share; take another name")
    return namespace


class Manifest(Frozen):
    """One grid."""

    name: Name
    corpora: Annotated[list[CorpusChoice], Field(min_length=1)]
    tasks: Annotated[list[str], Field(min_length=1)]
    models: Annotated[list[str], Field(min_length=1)]
    settings: Annotated[list[str], Field(min_length=1)]
    languages: list[str] | None = None
    switching: list[str] | None = None
    seeds: Annotated[list[Seed], Field(min_length=1, max_length=MOST_SEEDS)]
    leave_out: list[LeaveOut] = []
    sampling: list[SamplingOverride] = []
    store: str | None = None
    templates: str | None = None  # a folder beside the manifest whose templates hide shipped ones of the same name
    namespace: Annotated[Name, AfterValidator(_own_folder)] = "main"
    resources: dict[str, Resources] = {}
    metrics: Metrics = Metrics()
    baseline: dict[str, str] = {}
    comparisons: list[Comparison] = []
    budget: Budget | None = None


class _Catalogue(Frozen):
    models: dict[Name, ModelEntry]


def load(path: str | Path) -> Manifest:
    """The manifest in a YAML file."""
    manifest = read_yaml(path, Manifest)
    for key in ("corpora", "tasks", "models", "settings", "seeds", "languages", "switching"):
        values = getattr(manifest, key) or []
        for value in values:
            if values.count(value) > 1:
                raise UserError(f"{path}: key '{key}': {str(value)!r} stands there twice; keep one")
    return manifest


def load_models(path: str | Path) -> dict[str, ModelEntry]:
    """The model catalogue in a YAML file."""
    return read_yaml(path, _Catalogue).models


def model_entry(models: dict[str, ModelEntry], name: str, where: str) -> ModelEntry:
    """A model of the catalogue; `where` says which file and key named it."""
    if name not in models:
        raise UserError(f"{where}: there is no model {name!r}; {allowed(name, models)}")
    return models[name]
