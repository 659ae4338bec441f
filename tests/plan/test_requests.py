"""Items become prompts once, and prompts become requests whose identity is their content."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.plan.requests import Rendered, chunks, prompt_of, rendered, request_of
from mixgrid.prompts import Prompts
from mixgrid.records import Item, balanced_order, prompt_digest, request_seed
from mixgrid.tasks import TASKS
from tests.helpers import corpus_rows, open_grid

SATIRE = TASKS["satire"]


def asks(folder: Path, **changes: object) -> dict[str, Rendered]:
    (group,) = (grid := open_grid(folder, **changes)).groups
    return {a.item.item_id: a for a in rendered(grid.prompts, group.task, group.setting, group.items)}


def test_a_request_holds_its_item_s_identity_and_what_was_shown(tmp_path: Path) -> None:
    grid, ask = open_grid(tmp_path), asks(tmp_path)["s1-en"]
    request = request_of(grid.runs[1], ask)
    assert (request.item_id, request.source_id, request.cluster_id) == ("s1-en", "s1", "a0")
    assert (request.language, request.switching, request.item_hash) == ("ro-en", "random", ask.item.item_hash)
    assert request.prompt_sha256 == prompt_digest(ask.messages)
    assert request.seed == request_seed(2, "s1-en")
    assert prompt_of(grid.runs[1], ask).messages == ask.messages


def test_twins_are_shown_the_classes_in_one_order(tmp_path: Path) -> None:
    found = asks(tmp_path, rows=corpus_rows(40))
    assert all(found[f"s{n}-ro"].order == found[f"s{n}-en"].order for n in range(40))
    assert len({ask.order for ask in found.values()}) == 2
    assert all(ask.order == balanced_order(SATIRE.classes, ask.item.source_id) for ask in found.values())


def test_the_same_text_in_two_items_is_one_prompt_and_one_request_without_a_seed(tmp_path: Path) -> None:
    first, *rest = corpus_rows()
    rows = [first, {**first, "item_id": "again"}, *rest]
    grid, found = open_grid(tmp_path, rows=rows, sampling=[{"temperature": 0}]), asks(tmp_path, rows=rows)
    assert found["s0-ro"].prompt_sha256 == found["again"].prompt_sha256
    one, two = (request_of(grid.runs[0], ask=grid_ask) for grid_ask in (found["s0-ro"], found["again"]))
    assert one.request_id == two.request_id


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip))
def test_any_text_stands_in_its_prompt_as_it_is(text: str) -> None:
    item = Item("mini", "1", "1", None, "a", "test", "ro-en", "random", 1, text=text, label="satire")
    (ask,) = rendered(Prompts(), SATIRE, SATIRE.settings["zero-shot"], [item])
    assert ask.messages[-1].content.endswith(f"Propoziția: {text}")


def test_chunks_hold_everything_once_and_in_order(tmp_path: Path) -> None:
    whole = list(asks(tmp_path).values())
    places = 3 * np.arange(12)
    parts = list(chunks(places, iter(whole), 5))
    assert [(len(here), len(part)) for here, part in parts] == [(5, 5), (5, 5), (2, 2)]
    assert [ask for _, part in parts for ask in part] == whole
    assert np.concatenate([here for here, _ in parts]).tolist() == places.tolist()
