"""A run's plan is frozen once; more items go beside it, other prompts make another run, and prompts are kept once."""

from datetime import datetime
from pathlib import Path

import pytest

from mixgrid.errors import MixgridError
from mixgrid.plan.frozen import freeze, frozen, frozen_ids, tell_end
from mixgrid.plan.grid import Grid
from mixgrid.plan.layout import prompts_folder, run_folder, run_key
from mixgrid.plan.trace import read_run
from mixgrid.records import Prompt, Request, prompt_digest
from mixgrid.schemas import from_table, to_table
from tests.helpers import NS, TOY, corpus_rows, open_grid, own_template, pending_work


def keys(grid: Grid) -> dict[str, int]:
    return {entry.key: entry.size for entry in grid.store.list()}


def test_a_frozen_run_lists_each_item_once_and_says_what_made_it(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    freeze(grid, {"python": "3.11"})
    for run in grid.runs:
        assert len(from_table(Request, frozen(grid.store, NS, run))) == 12
        assert read_run(grid.store, NS, run.run_id) == run
    kept = grid.store.get_json(f"{run_folder(NS, grid.runs[0].run_id)}/run.json")
    assert kept["environment"] == {"python": "3.11"}
    assert datetime.fromisoformat(kept["frozen_at"]).tzinfo
    assert kept["manifest"]["name"] == "small"
    assert {name: kept["model"][name] for name in TOY} == TOY


def test_freezing_again_writes_nothing(tmp_path: Path) -> None:
    freeze(open_grid(tmp_path), {})
    before = keys(grid := open_grid(tmp_path))
    freeze(grid, {"python": "another"})
    assert keys(grid) == before


def test_how_a_call_ended_stands_beside_what_the_run_is(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    freeze(grid, {"python": "3.11"})
    run = grid.runs[0]
    before = grid.store.get_json(run_key(NS, run.run_id))
    for code in (3, 0):
        tell_end(grid.store, NS, run.run_id, {"exit": code})
        assert grid.store.get_json(run_key(NS, run.run_id)) == {**before, "ended": {"exit": code}}
    freeze(open_grid(tmp_path), {"python": "another"})
    assert grid.store.get_json(run_key(NS, run.run_id))["environment"] == {"python": "3.11"}
    assert read_run(grid.store, NS, run.run_id) == run


def test_no_end_is_told_of_a_run_that_nothing_froze_or_that_is_torn(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    run = grid.runs[0]
    tell_end(grid.store, NS, run.run_id, {"exit": 0})
    assert keys(grid) == {}
    for foreign in (b'{"run": {', b"[]"):
        grid.store.put(run_key(NS, run.run_id), foreign)
        tell_end(grid.store, NS, run.run_id, {"exit": 0})
        assert grid.store.get(run_key(NS, run.run_id)) == foreign
        freeze(open_grid(tmp_path), {})
        assert read_run(grid.store, NS, run.run_id) == run


def test_prompts_are_kept_once_for_all_models_and_seeds(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, models={"two": TOY}, asked=["toy", "two"], seeds=[1, 2, 3])
    freeze(grid, {})
    parts = grid.store.parts(prompts_folder(grid.runs[0])).whole
    prompts = [p for part in parts for p in from_table(Prompt, grid.store.read(part))]
    assert len(prompts) == len({p.prompt_sha256 for p in prompts}) == 12
    assert all(prompt_digest(p.messages) == p.prompt_sha256 for p in prompts)


def test_a_larger_limit_adds_to_the_plan_and_changes_nothing_in_it(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    freeze(grid.limited(5), {})
    before, few = keys(grid), frozen_ids(grid.store, NS, grid.runs[0])
    freeze(grid, {})
    assert before.items() <= keys(grid).items()
    assert len(few) == 5
    assert few.items() <= frozen_ids(grid.store, NS, grid.runs[0]).items()
    assert len(frozen_ids(grid.store, NS, grid.runs[0])) == 12


def test_a_changed_template_leaves_the_old_run_and_its_prompts_where_they_are(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    freeze(grid, {})
    before = keys(grid)
    other = open_grid(tmp_path, templates=own_template(tmp_path))
    freeze(other, {})
    assert before.items() <= keys(other).items()
    assert not set(frozen_ids(other.store, NS, other.runs[0]).values()) & set(
        frozen_ids(grid.store, NS, grid.runs[0]).values()
    )


def test_an_item_that_two_writers_froze_at_once_counts_once(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    freeze(grid, {})
    run, table = grid.runs[0], frozen(grid.store, NS, grid.runs[0])
    grid.store.put_table(run_folder(NS, run.run_id), "requests", table.slice(0, 7))
    assert len(from_table(Request, frozen(grid.store, NS, run))) == 12


def test_a_plan_that_the_code_would_ask_otherwise_is_refused(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    freeze(grid.limited(1), {})
    run = grid.runs[0]
    (request,) = from_table(Request, frozen(grid.store, NS, run))
    (part,) = grid.store.parts(run_folder(NS, run.run_id), "requests").whole
    grid.store.delete(part.key)
    changed = Request(**{**vars(request), "request_id": "0" * 32})
    grid.store.put_table(run_folder(NS, run.run_id), "requests", to_table(Request, [changed]))
    with pytest.raises(
        MixgridError, match=r"is asked otherwise than its frozen plan says.*raise the template's version"
    ):
        list(pending_work(grid))


def test_a_regional_model_s_plan_leaves_out_what_it_is_not_for(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, models={"toy": {**TOY, "languages": ["ro-en"]}})
    freeze(grid, {})
    assert {r.language for r in from_table(Request, frozen(grid.store, NS, grid.runs[0]))} == {"ro-en"}


def test_text_of_any_script_is_kept_with_its_prompt(tmp_path: Path) -> None:
    text = "Primarul: 👩‍👩‍👧 \u202eabc\u202c a\u0301 \u2028 {{ x }} {% raw %} ş/ș <PERSON> বাংলা"
    first, *rest = corpus_rows()
    grid = open_grid(tmp_path, rows=[{**first, "text": text}, *rest])
    freeze(grid, {})
    (part,) = grid.store.parts(prompts_folder(grid.runs[0])).whole
    assert any(text in p.messages[-1].content for p in from_table(Prompt, grid.store.read(part)))
