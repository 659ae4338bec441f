"""The verb that measures corpora: describe."""

import os
from pathlib import Path
from typing import Annotated

import typer

from mixgrid.cli.options import AsJson, Namespace, StoreUrl, say, say_json, warn
from mixgrid.corpora import load_corpora, read
from mixgrid.corpora.catalogue import corpus as find_corpus
from mixgrid.describe.counting import WORDS
from mixgrid.describe.semantics import LABSE
from mixgrid.plan.grid import open_store, resolve

MANY = 50_000  # items: from here on Ray is worth its start


def describe(
    corpora: Annotated[list[str], typer.Argument(metavar="CORPUS...", help="Names of corpora.yaml.")],
    split: Annotated[str | None, typer.Option(help="Only this split; else every one by itself.")] = None,
    tags: Annotated[
        str | None,
        typer.Option(help="What tells the languages of words: gold, spans, lingua or words:FILE; else gold or spans."),
    ] = None,
    tokenizer: Annotated[str, typer.Option(help="What counts tokens: words, a folder, or a hub name.")] = WORDS,
    semantic: Annotated[bool, typer.Option("--semantic", help="Compare each text with its monolingual twin.")] = False,
    encoder: Annotated[str, typer.Option(help="The sentence encoder for --semantic: a folder or a hub name.")] = LABSE,
    dialogues: Annotated[
        Path | None,
        typer.Option(help="A manifest whose models wrote dialogues (task dialogue-writing), to set beside."),
    ] = None,
    manifests: Annotated[Path, typer.Option(help="The folder of corpora.yaml.")] = Path("manifests"),
    store: StoreUrl = None,
    namespace: Namespace = "main",
    out: Annotated[Path | None, typer.Option(help="Write the files into this folder too.")] = None,
    json: AsJson = False,
) -> None:
    """Measure how corpora mix languages, repeat words, keep meaning and converse; page, tables and pictures."""
    from mixgrid.report import report_survey
    from mixgrid.report.described import survey_tables
    from mixgrid.report.markdown import plain
    from mixgrid.survey import Options, survey
    from mixgrid.survey.samples import samples_of, written

    catalogue = load_corpora(manifests / "corpora.yaml")
    found = [find_corpus(catalogue, name, "mixgrid describe") for name in dict.fromkeys(corpora)]
    samples = [sample for corpus in found for sample in samples_of(read(corpus), split)]
    warnings: list[str] = []
    if dialogues:
        samples += written(resolve(dialogues, store), warnings)
    on_ray = bool(os.environ.get("RAY_ADDRESS")) or len(samples) > MANY
    opened = open_store(store)
    made = survey(opened, samples, Options(tags, tokenizer, encoder if semantic else None, namespace, on_ray))
    places = report_survey(opened, made, out)
    warnings += made.warnings
    if json:
        say_json({"survey": made.id, "files": places, "measured": made.measured, "warnings": warnings})
        return
    say("\n".join(map(plain, survey_tables(made))))
    say(f"survey {made.id}: {places[0]}")
    warn(warnings)
