"""The `mixgrid` command: one verb a file's function, thin over the flows. A user's mistake ends in one sentence."""

import os
import sys

import typer

from mixgrid.cli import annotation, compare, describe, generate, inspect, money, night, remote, verbs
from mixgrid.cli.options import harmless
from mixgrid.errors import MixgridError, UserError

INTERRUPTED = 130  # what typer makes of Ctrl-C

app = typer.Typer(
    name="mixgrid",
    help="Evaluate language models on code-mixed text, as a grid, on a Ray cluster.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(verbs.plan)
app.command()(verbs.run)
app.command()(money.sweep)
app.command()(money.cost)
app.command()(verbs.status)
app.command(context_settings=remote.PASS_ON)(remote.submit)
app.command()(remote.logs)
app.command()(remote.stop)
app.command()(remote.preflight)
app.command()(verbs.reduce)
app.command()(verbs.report)
app.command()(compare.compare)
app.command()(compare.gate)
app.command()(night.nightly)
app.command()(generate.generate)
app.command()(describe.describe)
app.command()(annotation.agreement)
app.command()(inspect.show)
app.command()(inspect.parse)
app.command()(inspect.corpora)
app.command()(inspect.doctor)
app.add_typer(inspect.models_app, name="models")


def main(arguments: list[str] | None = None) -> None:
    """Run the command; exit codes are those of errors.py, and anything unforeseen keeps its stack trace (1)."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        _refuse_no_text(arguments)
        app(args=arguments)
    except MixgridError as error:
        print(harmless(f"mixgrid: {error}"), file=sys.stderr)
        sys.exit(error.exit_code)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            print("mixgrid: interrupted; what was answered is kept, the same command goes on", file=sys.stderr)
            _leave_ray()
        raise


def _leave_ray() -> None:
    """End here where Ray runs: its own end would find threads that still wait for it, and make the exit code 1.

    The processes of a Ray that was started here end with this one, and a cluster with the job.
    """
    ray = sys.modules.get("ray")
    if ray and ray.is_initialized():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)


def _refuse_no_text(arguments: list[str]) -> None:
    """An argument whose bytes are not UTF-8 is no name of anything here."""
    for argument in arguments:
        if any("\ud800" <= c <= "\udfff" for c in argument):
            raise UserError(f"argument {argument!a} is not UTF-8; give it in UTF-8")
