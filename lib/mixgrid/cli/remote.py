"""The verbs that talk to a cluster from a laptop: submit, logs, stop; and preflight, which runs there.

Ray takes seconds to import, so each verb imports what it needs of it itself.
"""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mixgrid import __version__
from mixgrid.cli.options import AsJson, ManifestPath, StoreUrl, harmless, say, say_json, warn
from mixgrid.cluster.upload import Upload, mib, pack
from mixgrid.errors import Incomplete, UserError, allowed
from mixgrid.plan.grid import resolve
from mixgrid.plan.names import load_checked, models_of
from mixgrid.plan.preflight import commit

if TYPE_CHECKING:
    from mixgrid.cluster.jobs import JobServer

Address = Annotated[
    str | None,
    typer.Option("--address", help="The job server; else RAY_API_SERVER_ADDRESS, else http://127.0.0.1:8265."),
]
JobId = Annotated[str, typer.Argument(metavar="JOB", help="The id that submit printed.")]
LOCAL = ("gate", "show", "submit", "preflight", "status")  # verbs with no sense as a job of their own
OF_GRIDS = ("plan", "reduce", "report", "run")  # their manifest is a grid's, and is checked here
PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


def submit(
    ctx: typer.Context,
    manifest: ManifestPath,
    job: Annotated[str, typer.Option(metavar="VERB", help="What to do there: run, reduce, report, …")] = "run",
    store: StoreUrl = None,
    address: Address = None,
    detach: Annotated[bool, typer.Option("--detach", help="Print the job's id, and return.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Print nothing until it ends; the exit code is the job's.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would travel, and send nothing.")] = False,
    json: AsJson = False,
) -> None:
    """Run a verb on a cluster, and follow it. Ctrl-C detaches; other options go to the verb, as `--limit 5` does."""
    entrypoint, upload = _prepared(ctx, manifest, job, store)
    from mixgrid.cluster.jobs import LIMIT, JobServer, address_of

    upload.check(LIMIT)
    warn(f"{path} is not sent: nodes must have it in that place" for path in upload.elsewhere)
    if dry_run:
        _list(upload, json)
        return
    server = JobServer(address_of(address))
    made_by = {"MIXGRID_COMMIT": commit(), "MIXGRID_FETCH": "1", "PYTHONUNBUFFERED": "1"}
    job_id = server.submit(upload, entrypoint, made_by, {"mixgrid": __version__, "manifest": manifest, "verb": job})
    if json:
        say_json({"job": job_id, "address": server.address, "files": len(upload.files), "bytes": upload.size})
    else:
        say(f"job {job_id}: {len(upload.files)} files, {mib(upload.size)}, at {server.address}")
    if wait or not (detach or json):
        _follow(server, job_id, quiet=wait)


def logs(
    job: JobId,
    address: Address = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until it ends; the exit code is the job's.")] = False,
) -> None:
    """Print what a job has written; Ctrl-C never stops the job."""
    from mixgrid.cluster.jobs import JobServer, address_of

    server = JobServer(address_of(address))
    if follow:
        _follow(server, job)
    else:
        typer.echo(harmless(server.logs(job)), nl=False)


def stop(job: JobId, address: Address = None) -> None:
    """End a job; what was answered is kept, and the same submit goes on."""
    from mixgrid.cluster.jobs import JobServer, address_of

    say(f"job {job}: {JobServer(address_of(address)).stop(job)}")


def preflight(
    manifest: ManifestPath,
    store: StoreUrl = None,
    patience: Annotated[float, typer.Option(min=1, help="Seconds to wait for nodes that are not up yet.")] = 900.0,
    json: AsJson = False,
) -> None:
    """Try each kind of node of the cluster of RAY_ADDRESS: versions, store, engine, models, disk, GPU memory."""
    from mixgrid.cluster.nodes import preflight as try_nodes

    findings = try_nodes(resolve(manifest, store), patience)
    if json:
        say_json(findings)
    for one in () if json else findings:
        say(f"{'ok  ' if one.ok else 'FAIL'} {one.node}: {one.check}: {one.says}")
    if bad := [one for one in findings if not one.ok]:
        raise UserError("; ".join(f"{one.node}: {one.check}: {one.says}" for one in bad))


def cluster_line(address: str) -> str:
    """A cluster at this moment, for `mixgrid status`."""
    from mixgrid.cluster.jobs import JobServer

    now = JobServer(address).usage()
    busy = "" if now.gpu_busy is None else f" ({now.gpu_busy:.0f} % busy)"
    waiting = f", {now.waiting} demands wait for a node" if now.waiting else ""
    jobs = f", running: {', '.join(now.jobs)}" if now.jobs else ", no job running"
    cpus, gpus = (f"{held:g} of {there:g}" for held, there in (now.cpus, now.gpus))
    return f"cluster: {now.nodes} nodes, CPUs held {cpus}, GPUs held {gpus}{busy}{waiting}{jobs}"


def _prepared(ctx: typer.Context, manifest: str, job: str, store: str | None) -> tuple[str, Upload]:
    """The command for the cluster and the files for it; what can be known to be wrong is said here."""
    verb = _verb(ctx, job)
    url = store
    if job in OF_GRIDS:
        grid = load_checked(Path(manifest))
        models_of(grid, Path(manifest))
        url = store or grid.store
    if not (url or "").startswith("s3://"):
        raise UserError(
            f"--store {url or '(none)'}: a cluster's nodes share no folder with this machine; name s3://bucket/prefix, "
            "here or as the manifest's `store`"
        )
    upload = pack(manifest)
    arguments = [upload.manifest, "--store", str(url), *ctx.args]
    verb.make_context(job, list(arguments), parent=ctx.parent).close()  # a misspelt option is told here
    python = ["python", "-m", "mixgrid"]
    first = shlex.join([*python, "preflight", *arguments[:3]]) + " && " if job == "run" else ""
    return f"{first}exec {shlex.join([*python, job, *arguments])}", upload


def _verb(ctx: typer.Context, name: str) -> Any:
    """A verb of mixgrid that takes a manifest and a store."""
    commands: dict[str, Any] = getattr(ctx.parent.command, "commands", {}) if ctx.parent else {}
    fit = {
        verb: command
        for verb, command in commands.items()
        if verb not in LOCAL and {"manifest", "store"} <= {p.name for p in command.params}
    }
    if name not in fit:
        raise UserError(f"--job {name}: no verb that runs on a cluster; {allowed(name, fit)}")
    return fit[name]


def _follow(server: "JobServer", job: str, quiet: bool = False) -> None:
    try:
        for text in server.follow(job):
            if not quiet:
                typer.echo(harmless(text), nl=False)
    except KeyboardInterrupt:
        raise Incomplete(
            f"detached; job {job} goes on: `mixgrid logs {job} --follow` shows it, `mixgrid stop {job}` ends it"
        ) from None
    server.check_ended_well(job)


def _list(upload: Upload, json: bool) -> None:
    if json:
        say_json(
            {"files": [(f.name, f.size) for f in upload.files], "bytes": upload.size, "not_sent": upload.elsewhere}
        )
        return
    for file in upload.files:
        say(f"{file.name}  {file.size}")
    say("largest:")
    for file in upload.largest():
        say(f"  {mib(file.size):>10}  {file.name}")
    say(f"{len(upload.files)} files, {mib(upload.size)}; nothing was sent")
