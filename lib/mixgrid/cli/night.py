"""The verb of the nightly job."""

from typing import Annotated

import typer

from mixgrid.cli.options import AsJson, StoreUrl, say, say_json


def nightly(
    manifest: Annotated[str, typer.Argument(metavar="MANIFEST", help="The nightly job's YAML file.")],
    store: StoreUrl = None,
    day: Annotated[str | None, typer.Option(help="The night to run or to go on with, as YYYY-MM-DD (UTC).")] = None,
    json: AsJson = False,
) -> None:
    """Ask the whole grid afresh and compare with the night before: exit 0, 3 (not complete) or 5 (regression)."""
    from mixgrid.cli.verbs import Progress
    from mixgrid.nightly import nightly as flow
    from mixgrid.nightly import open_job, outcome

    progress = Progress()
    night = flow(open_job(manifest, store), progress, day)
    progress.close()
    say_json(night) if json else say(night.summary)
    outcome(night)
