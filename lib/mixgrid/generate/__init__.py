"""Code-mix generation: a corpus of sentences → a corpus of mixed ones, by the methods of switching/.

    choose what is switched → ask the model for what is distinct → put the answers in → a corpus snapshot, its rejects

Choosing and putting in are pure, and asking is the main flow: so a generation that was killed goes on by the same call,
and gives the corpus that an unbroken one gives.
"""

from dataclasses import asdict, dataclass

from mixgrid.corpora.snapshot import Snapshot, write_snapshot
from mixgrid.generate.answers import answers
from mixgrid.generate.assemble import Reject, assemble
from mixgrid.generate.choose import Choice, choices, requests
from mixgrid.generate.recipe import Job
from mixgrid.generate.summary import Summary, summary
from mixgrid.plan.preflight import environment
from mixgrid.predict import Outcome, Watch
from mixgrid.schemas import to_table
from mixgrid.sweep import answer
from mixgrid.switching.weave import Said


@dataclass(frozen=True)
class Generation:
    """A made corpus in the store."""

    snapshot: Snapshot
    summary: Summary
    outcome: Outcome | None  # of asking the model; None where there was nothing to ask

    def entry(self, job: Job) -> str:
        """The corpus as an entry of corpora.yaml, by which a grid may name it."""
        lines = (
            f"{job.recipe.name}:", "  reader: snapshot", f"  path: {job.store.url}/{self.snapshot.folder}",
            f"  licence: {job.corpus.entry.licence}", f"  tasks: [{', '.join(job.corpus.entry.tasks)}]",
        )  # fmt: skip
        return "".join(f"  {line}\n" for line in lines)


def generate(job: Job, watch: Watch = lambda *_: None) -> Generation:
    """Make the corpus. Incomplete: the model has not answered everything; the same call goes on."""
    job.store.check()
    found = list(choices(job))
    said, outcome = _ask(job, found, watch)
    made = assemble(job, found, said)
    told = summary(made, job.recipe.name, job.recipe.variants)
    snapshot = write_snapshot(made.items, job.store)
    job.store.put_table(snapshot.folder, "rejects", to_table(Reject, made.rejects))
    document = {"recipe": job.recipe.model_dump(mode="json"), "summary": asdict(told), "environment": environment()}
    job.store.put_json(f"{snapshot.folder}/generation.json", document)
    return Generation(snapshot, told, outcome)


def _ask(job: Job, found: list[Choice], watch: Watch) -> tuple[dict[str, Said], Outcome | None]:
    """The answers to everything distinct that the choices need."""
    asked = requests(job, found)
    if not asked:
        return {}, None
    grid = job.grid(asked)
    outcome = answer(grid, watch)
    return answers(grid), outcome
