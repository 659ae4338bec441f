"""What a nightly job does, in one YAML file beside the grid that it runs."""

from typing import Annotated

from pydantic import AfterValidator, Field

from mixgrid.manifest import Frozen, Name, Usd

Share = Annotated[float, Field(ge=0, le=1)]


def _namespaced(baseline: str | None) -> str | None:
    if baseline is not None and len([part for part in baseline.split("/") if part]) != 2:
        raise ValueError("write NAMESPACE/REDUCTION, as `mixgrid reduce` prints it")
    return baseline


class Paid(Frozen):
    """The paid models that a night may ask, and what one night may spend on them."""

    models: Annotated[list[str], Field(min_length=1)]
    usd: Usd


class Jumps(Frozen):
    """How far a figure may move between two nights before it is told; rates in absolute shares, the others relative."""

    unparsed: Share = 0.02
    failed: Share = 0.02
    throughput: Annotated[float, Field(gt=0)] = 0.3
    cost: Annotated[float, Field(gt=0)] = 0.3


class NightManifest(Frozen):
    """A nightly job."""

    grid: str  # the grid's YAML file, beside this one
    prefix: Name = "nightly"  # a night's namespace is PREFIX-YYYY-MM-DD
    keep: Annotated[int, Field(ge=2)] = 14  # nights that stay in the store
    baseline: Annotated[str | None, AfterValidator(_namespaced)] = (
        None  # a pinned reduction; its namespace is never deleted
    )
    paid: Paid | None = None  # None: the grid's paid models are left out
    max_failed: Share = 0.5  # of a run's rows, before the night counts as incomplete
    max_drop: Annotated[float, Field(ge=0)] = 0.0  # a confirmed drop beyond this is a regression
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    jumps: Jumps = Jumps()
