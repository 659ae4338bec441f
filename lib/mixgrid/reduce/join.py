"""The join: judged rows meet the frozen plans that name them, and nothing else gets in.

A row counts when its run, item, request, prompt and item's content are all the plan's. What does not is counted by
what was wrong with it. Of several rows for one request, that with the lowest digest wins, whatever the order of files.
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mixgrid.errors import UserError
from mixgrid.records import Run
from mixgrid.reduce.book import Rows, numbers
from mixgrid.reduce.population import Ints, Population, Words, list_words, words
from mixgrid.store import Part, Store

PLAN_COLUMNS = ("item_id", "item_hash", "request_id", "prompt_sha256", "order")
Bools = npt.NDArray[np.bool_]


@dataclass
class Answers:
    """A run's frozen plan and the rows that answered it: arrays over the plan's items, in the order of item ids."""

    run: Run
    item: Ints
    request: Words
    prompt: Words
    item_hash: Words
    order: Words
    rows: Rows
    copies: Ints  # of the row that stands
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def load(cls, store: Store, plans: list[Part], run: Run, planned: "Planned") -> "Answers":
        """A run's plan, none of it answered. A plan with two requests for one item is refused."""
        population = planned.population
        columns = [planned.columns(store.read(part, PLAN_COLUMNS)) for part in plans]
        item, request, prompt, item_hash, order = (
            np.concatenate([c[i] for c in columns]) if columns else np.zeros(0, dtype=kind)
            for i, kind in enumerate((np.int32, np.uint64, np.uint64, np.uint64, np.uint64))
        )
        known = item >= 0
        same = known & (item_hash == population.hashes[item]) if len(population) else known
        chosen = same & population.selected[item] if len(population) else same
        kept = _once(run, item, request, chosen)
        n = len(kept)
        answers = cls(
            run,
            item[kept],
            request[kept],
            prompt[kept],
            item_hash[kept],
            order[kept],
            Rows.none(n),
            np.zeros(n, np.int32),
        )
        answers.counts["planned"] = n
        answers.counts["plan_item_unknown"] = int((~known).sum())
        answers.counts["plan_item_differs"] = int((known & ~same).sum())
        return answers

    @property
    def answered(self) -> Bools:
        """Which of the plan's items have a row."""
        return self.rows.verdict >= 0

    def add(self, judged: pa.Table, rows: Rows, size: int) -> None:
        """Take the rows of a part that are this run's; `size` items are in the population."""
        mine = np.flatnonzero(pc.equal(judged["run_id"], self.run.run_id).to_numpy())
        place: Ints = np.full(size + 1, -1, dtype=np.int32)  # the last entry stands for an unknown item
        place[self.item] = np.arange(len(self.item), dtype=np.int32)
        at, joined = self._joined(judged.take(pa.array(mine)), place)
        self._settle(at[joined], rows, mine[joined])

    def finish(self) -> None:
        """Count what the join left over: the same row again, or another answer to the same request."""
        found = int(self.answered.sum())
        self.counts["answered"] = found
        self.counts["missing"] = len(self.item) - found
        self.counts["duplicate"] = int(self.copies.sum()) - found
        self.counts["superseded"] = self.counts["joined"] - int(self.copies.sum())

    def _joined(self, mine: pa.Table, place: Ints) -> tuple[Ints, Bools]:
        """Each row's place in the plan, and whether it is what the plan names there."""
        item = numbers(mine, "item")
        at = place[item]
        planned = at >= 0
        request, prompt, item_hash = (numbers(mine, name) for name in ("request", "prompt", "item_hash"))
        asked = planned.copy()
        asked[planned] = request[planned] == self.request[at[planned]]
        shown, same = asked.copy(), asked.copy()
        shown[asked] = prompt[asked] == self.prompt[at[asked]]
        same[asked] = item_hash[asked] == self.item_hash[at[asked]]
        self.counts["rows"] += len(item)
        self.counts["item_unknown"] += int((item < 0).sum())
        self.counts["other_plan"] += int(((item >= 0) & ~asked).sum())
        self.counts["prompt_differs"] += int((asked & ~shown).sum())
        self.counts["item_differs"] += int((asked & ~same).sum())
        self.counts["joined"] += int((shown & same).sum())
        return at, shown & same

    def _settle(self, at: Ints, rows: Rows, taken: npt.NDArray[np.int64]) -> None:
        """Let the row with the lowest digest stand at each place, and count how often it came."""
        row = rows.row[taken]
        order = np.argsort(at, kind="stable")
        if (at[order][1:] == at[order][:-1]).any():
            order = np.lexsort((row, at))
        first = order[np.r_[True, at[order][1:] != at[order][:-1]]] if len(at) else order
        better = first[~self.answered[at[first]] | (row[first] < self.rows.row[at[first]])]
        self.rows.put(at[better].astype(np.int64), rows, taken[better])
        self.copies[at[better]] = 0
        np.add.at(self.copies, at[row == self.rows.row[at]], 1)


def check(answers: Answers, allow_changed: bool) -> None:
    """Refuse a run whose items are not those of its snapshot, unless that is allowed and they are left out."""
    differ = [name for name in ("plan_item_unknown", "plan_item_differs", "item_differs") if answers.counts[name]]
    if differ and not allow_changed:
        what = ", ".join(f"{answers.counts[name]} {name}" for name in differ)
        raise UserError(
            f"run {answers.run.run_id}: rows do not join the snapshot {answers.run.snapshot[:16]} of corpus "
            f"'{answers.run.corpus}' by content ({what}): reduce against the items that were asked, or allow changed "
            "items, which leaves these rows out and counts them"
        )


@dataclass
class Planned:
    """The plans of runs over the same items as numbers: what all say alike, they say once."""

    population: Population
    _seen: list[tuple[pa.Table, tuple[Ints, Words, Words]]] = field(default_factory=list)

    def columns(self, table: pa.Table) -> tuple[Ints, Words, Words, Words, Words]:
        """Item, request, prompt, the item's content, order."""
        item, item_hash, order = self._of_items(table.select(["item_id", "item_hash", "order"]))
        return item, words(table["request_id"]), words(table["prompt_sha256"]), item_hash, order

    def _of_items(self, table: pa.Table) -> tuple[Ints, Words, Words]:
        for known, found in self._seen:
            if known.equals(table):
                return found
        found = (self.population.sheet.find(table["item_id"]), words(table["item_hash"]), list_words(table["order"]))
        self._seen = [*self._seen[-3:], (table, found)]  # a plan may have a few parts
        return found


def _once(run: Run, item: Ints, request: Words, usable: Bools) -> npt.NDArray[np.int64]:
    """Places of the plan's rows, each item once, in the order of items."""
    at = np.flatnonzero(usable)
    order = at[np.lexsort((request[at], item[at]))]
    again = item[order][1:] == item[order][:-1]
    if (again & (request[order][1:] != request[order][:-1])).any():
        raise UserError(
            f"run {run.run_id}: its frozen plan names two requests for one item, so two plans were mixed; "
            "delete the run's folder and plan again"
        )
    once: npt.NDArray[np.int64] = order[np.r_[True, ~again]] if len(order) else order
    return once
