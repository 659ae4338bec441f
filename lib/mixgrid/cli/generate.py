"""The verb that makes a corpus: generate."""

from dataclasses import asdict
from typing import Annotated

import typer

from mixgrid.cli.options import AsJson, Limit, ManifestPath, StoreUrl, say, say_json
from mixgrid.cli.verbs import Progress


def generate(
    manifest: ManifestPath,
    store: StoreUrl = None,
    limit: Limit = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only choose what is switched, and count what would be asked.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Make a code-mixed corpus from one of plain sentences. Resumes by itself."""
    from mixgrid.generate import generate as make  # imports Ray
    from mixgrid.generate.recipe import resolve
    from mixgrid.generate.summary import asking, tables

    job = resolve(manifest, store).limited(limit)
    job.store.check(write=False)
    if dry_run:
        size = asking(job)
        say_json(size) if json else say(str(size))
        return
    progress = Progress()
    made = make(job, progress)
    progress.close()
    if json:
        say_json({**asdict(made), "entry": made.entry(job)})
        return
    say(tables(made.summary))
    say(f"\n{made.snapshot.items} items: {job.store.url}/{made.snapshot.folder}")
    say(f"To name it in a grid, put this into corpora.yaml:\n\n{made.entry(job)}")
