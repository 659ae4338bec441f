"""A plan and an estimate as text for `mixgrid plan`."""

from collections.abc import Iterable, Iterator

from mixgrid.plan.cells import Absent
from mixgrid.plan.decoding import Decoding
from mixgrid.plan.estimate import Estimate, Size
from mixgrid.plan.summary import Summary


def plan_lines(found: Summary) -> Iterator[str]:
    """The runs, what does not exist, how answers are decoded, and the sums."""
    for run in found.by_run:
        yield f"{run.run_id}: {run.requests} requests, {run.done} done, {run.pending} pending"
    yield from _absent_lines(found.absent)
    yield from _decoding_lines(found.decoding)
    yield (
        f"{found.runs} runs, {found.cells} cells, {found.requests} requests ({found.unique_requests} unique): "
        f"{found.done} done, {found.pending} pending ({found.reusable} of them answered by another run)"
    )
    yield (
        f"prompt tokens: {found.prompt_tokens:,} ± {found.prompt_tokens_se:,} (SE of the sample); "
        f"completion tokens: at most {found.max_completion_tokens:,}"
    )


def estimate_lines(found: Estimate) -> Iterator[str]:
    """The corpora, the design by model and setting, what does not exist, how answers are decoded, and the sums."""
    for size in found.sizes:
        yield _size_line(size)
    for row in found.rows:
        yield (
            f"{row.corpus} · {row.task} · {row.model} · {row.setting}: {row.cells} cells × {row.seeds} seeds, "
            f"{row.requests:,} requests"
        )
    yield from _absent_lines(found.absent)
    yield from _decoding_lines(found.decoding)
    yield f"{found.runs} runs, {found.cells} cells, {found.requests:,} requests (an estimate)"
    yield (
        f"prompt tokens: about {found.prompt_tokens:,} (guessed from words); "
        f"completion tokens: at most {found.max_completion_tokens:,}"
    )


def _size_line(size: Size) -> str:
    items = sum(cell.items for cell in size.cells)
    source = "counted" if size.counted else "as declared, the data is not here"
    return f"{size.corpus}/{size.split} for {size.task}: {items:,} items in {len(size.cells)} cells ({source})"


def _absent_lines(found: Iterable[Absent]) -> Iterator[str]:
    """What is not asked, and why: one line for all models of which the same is true."""
    places: dict[tuple[str, str], dict[str, list[str]]] = {}
    for one in found:
        place = one.language if one.setting == "all" else one.setting
        places.setdefault((one.model, one.why), {}).setdefault(place, []).append(one.corpus)
    models: dict[tuple[str, str], list[str]] = {}
    for (model, why), corpora in places.items():
        text = "; ".join(f"{place} ({', '.join(dict.fromkeys(names))})" for place, names in corpora.items())
        models.setdefault((text, why), []).append(model)
    for (text, why), names in models.items():
        yield f"– {', '.join(names)}: {text}: {why}"


def _decoding_lines(rows: Iterable[Decoding]) -> Iterator[str]:
    """One line for each model and sampling: where it holds."""
    places: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        places.setdefault((row.model, str(row)), []).append(f"{row.task}/{row.setting}")
    for (model, sampling), where in places.items():
        yield f"decoding {model}: {sampling} [{', '.join(where)}]"
