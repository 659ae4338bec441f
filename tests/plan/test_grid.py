"""A manifest meets what it names: everything that is not there is refused, and the runs are what the grid says."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mixgrid.errors import UserError
from mixgrid.manifest import Api, ModelEntry
from mixgrid.plan.grid import Grid, resolve, run_digest
from mixgrid.plan.requests import rendered, request_of
from mixgrid.records import Sampling
from mixgrid.tasks import TASKS
from tests.helpers import TOY, corpus_rows, open_grid, own_template, run_of, small_grid


def refused(folder: Path, **changes: Any) -> str:
    path = small_grid(folder, **changes)
    with pytest.raises(UserError) as caught:
        _ = resolve(path, str(folder / "store")).runs
    assert not (folder / "store").exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def ids(grid: Grid) -> dict[tuple[int, str], str]:
    """(seed, item id) → request id."""
    return {
        (run.seed, ask.item.item_id): request_of(run, ask).request_id
        for group in grid.groups
        for ask in rendered(grid.prompts, group.task, group.setting, group.items)
        for run in group.runs
    }


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"tasks": ["satir"]}, "key 'tasks': there is no task 'satir'; did you mean 'satire'? Allowed: code-mixing, "),
        ({"asked": ["tox"]}, "key 'models': there is no model 'tox'; did you mean 'toy'? Allowed: toy"),
        (
            {"settings": ["zero-shoot"]},
            "key 'settings': task 'satire' has none of zero-shoot; did you mean 'zero-shot'",
        ),
        ({"settings": ["zero-shot", "x"]}, "key 'settings': no task here has 'x'; Allowed: chain-of-thought, "),
        ({"corpora": [{"name": "mino"}]}, "key 'corpora': there is no corpus 'mino'; did you mean 'mini'?"),
        ({"corpora": [{"name": "mini", "split": "tst"}]}, "no split 'tst'; did you mean 'test'? Allowed: test, train"),
        ({"languages": ["ro", "ro-fr"]}, "key 'languages': 'ro-fr' is in none of the corpora; did you mean 'ro-en'?"),
        ({"switching": ["randon"]}, "key 'switching': 'randon' is in none of the corpora; did you mean 'random'?"),
        ({"resources": {"tiny": {}}}, "key 'resources': 'tiny' is not in this grid; Allowed: toy"),
        ({"sampling": [{"model": "tiny"}]}, "key 'sampling.0.model': 'tiny' is not in this grid; Allowed: toy"),
        ({"sampling": [{"setting": "few"}]}, "key 'sampling.0.setting': 'few' is not in this grid"),
        ({"templates": "nowhere"}, "key 'templates': there is no folder"),
        ({"store": "ftp://x"}, "store 'ftp://x' is neither a folder nor s3://bucket/prefix"),
        ({"tasks": ["satire", "dialogue-qa"]}, "key 'settings': task 'dialogue-qa' has none of zero-shot; "),
        ({"tasks": ["satire", "dialogue-qa"], "settings": ["zero-shot", "0-shot"]}, "no item of mini can be asked by"),
    ],
    ids=lambda value: "" if isinstance(value, str) else "-".join(value),
)
def test_a_name_that_nothing_answers_to_is_refused_with_what_is_there(
    tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    if "store" in changes:
        with pytest.raises(UserError) as caught:
            resolve(small_grid(tmp_path, **changes))
        assert says in str(caught.value)
    else:
        assert says in refused(tmp_path, **changes)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"engine": "vlm"}, "models.yaml: model 'toy', key 'engine': no engine 'vlm'; did you mean 'vllm'?"),
        (
            {"engine": "vllm", "engine_args": {"max_num_seqs": 4, "dtype": "float16"}},
            "models.yaml: model 'toy', key 'engine_args': 'dtype' can change answers, and old ones would be taken for "
            "those with it; set the model's key 'dtype' instead",
        ),
        ({"engine": "vllm", "engine_args": {"kv_cache_dtype": "fp8"}}, "for those with it; leave it out"),
        ({"chat_template": "no.jinja"}, "key 'models.toy.chat_template': 'no.jinja' is not right: "),
        ({"api": {}}, "key 'api': engine 'canned' asks no server"),
        (
            {"engine": "openai", "api": {"request_per_minute": 5}},
            "unknown key 'models.toy.api.request_per_minute'; did you mean 'requests_per_minute'?",
        ),
        ({"engine": "openai", "api": {"leaves_out": ["temprature"]}}, "it should be 'temperature'"),
        ({"engine": "openai", "api": {"url": "https://me:word@host/v1"}}, "without a name or password in it"),
        ({"engine": "openai", "api": {"url": "host/v1"}}, "key 'api.url': write http(s)://host/path"),
        ({"engine": "openai", "engine_args": {"n": 2}}, "key 'engine_args': engine 'openai' takes none"),
    ],
)
def test_a_model_whose_entry_cannot_be_used_is_refused(tmp_path: Path, entry: dict[str, Any], says: str) -> None:
    assert says in refused(tmp_path, models={"toy": {**TOY, **entry}})


@pytest.mark.parametrize("key", ["sk-proj-abcdefghijkl", "AKIAABCDEFGHIJKL"])
def test_a_key_in_the_place_of_its_variable_s_name_is_refused_and_not_printed(tmp_path: Path, key: str) -> None:
    said = refused(tmp_path, models={"toy": {**TOY, "engine": "openai", "api": {"key_env": key}}})
    assert "key 'api.key_env': that is no name of an environment variable" in said
    assert key not in said


def test_a_request_s_identity_has_of_its_server_what_can_change_an_answer() -> None:
    def digest(**api: Any) -> str:
        entry = ModelEntry(engine="openai", checkpoint="m", context_length=4096, api=Api(**api))
        return run_digest(entry, Sampling(), TASKS["satire"].settings["zero-shot"])

    bare = digest()
    no_key = ModelEntry(engine="openai", checkpoint="m", context_length=4096)
    assert run_digest(no_key, Sampling(), TASKS["satire"].settings["zero-shot"]) == bare
    same: list[dict[str, Any]] = [{"concurrency": 3}, {"limit_key": "max_completion_tokens"}, {"timeout_s": 1.0}]
    other: list[dict[str, Any]] = [
        {"url": "https://openrouter.ai/api/v1"},
        {"providers": ["a"]},
        {"leaves_out": ["seed"]},
        {"response_format": {"type": "json_object"}},
    ]
    assert {digest(**api) for api in same} == {bare}
    assert len({bare, *(digest(**api) for api in other)}) == 5


def test_catalogues_that_are_not_beside_the_manifest_are_named(tmp_path: Path) -> None:
    path = small_grid(tmp_path)
    (path.parent / "corpora.yaml").unlink()
    with pytest.raises(UserError, match=r"corpora.yaml: cannot be read"):
        resolve(path)
    (path.parent / "models.yaml").unlink()
    with pytest.raises(UserError, match=r"models.yaml: cannot be read"):
        resolve(path)


def test_an_empty_corpus_and_one_that_is_not_there_are_refused(tmp_path: Path) -> None:
    assert "is empty" in refused(tmp_path, rows=[])
    (tmp_path / "manifests" / "mini.jsonl").unlink()
    with pytest.raises(UserError, match="is not there"):
        resolve(tmp_path / "manifests" / "grid.yaml")


def test_runs_are_the_product_of_what_the_manifest_names(tmp_path: Path) -> None:
    settings = ["zero-shot", "chain-of-thought"]
    grid = open_grid(tmp_path, settings=settings, models={"two": TOY}, asked=["toy", "two"])
    found = Counter((run.model, run.setting, run.seed) for run in grid.runs)
    assert found == {(m, s, n): 1 for m in ("toy", "two") for s in settings for n in (1, 2)}
    assert {run.split for run in grid.runs} == {"test"}
    assert all(len(group.items) == 12 for group in grid.groups)


def test_languages_and_methods_choose_the_items(tmp_path: Path) -> None:
    (group,) = open_grid(tmp_path, languages=["ro"]).groups
    assert {item.language for item in group.items} == {"ro"}
    (group,) = open_grid(tmp_path, switching=["random"]).groups
    assert {item.switching for item in group.items} == {"random"}


def test_a_regional_model_is_asked_only_its_own_languages(tmp_path: Path) -> None:
    grid = open_grid(tmp_path, models={"toy": {**TOY, "languages": ["ro-en"]}})
    taken = [item.language for group in grid.groups for item in group.items if grid.takes(grid.runs[0], item)]
    assert set(taken) == {"ro-en"}
    assert len(taken) == 6


def test_later_sampling_entries_win_over_earlier_ones_and_over_the_model(tmp_path: Path) -> None:
    toy = {**TOY, "sampling": {"default": {"top_k": 3, "top_p": 0.5}, "satire": {"top_k": 4}}}
    layers = [{"temperature": 1}, {"setting": "chain-of-thought", "temperature": 0.2}, {"task": "satire", "min_p": 0.1}]
    grid = open_grid(
        tmp_path, models={"toy": toy}, sampling=layers, settings=["zero-shot", "chain-of-thought"], seeds=[1]
    )
    plain, thought = (run_of(grid, setting=s).sampling for s in ("zero-shot", "chain-of-thought"))
    assert (plain.top_k, plain.top_p, plain.temperature, plain.min_p) == (4, 0.5, 1.0, 0.1)
    assert thought.temperature == 0.2


# Identities


def test_the_same_manifest_twice_is_the_same_runs_and_requests(tmp_path: Path) -> None:
    one, two = open_grid(tmp_path / "a"), open_grid(tmp_path / "b", name="other", resources={"toy": {"batch_size": 3}})
    assert [run.run_id for run in one.runs] == [run.run_id for run in two.runs]
    assert ids(one) == ids(two)


def test_seeds_ask_other_requests_at_a_temperature_and_the_same_ones_at_none(tmp_path: Path) -> None:
    warm, cold = open_grid(tmp_path), open_grid(tmp_path, sampling=[{"temperature": 0}])
    assert len(set(ids(warm).values())) == 24
    assert len(set(ids(cold).values())) == 12
    assert {r for (s, _), r in ids(cold).items() if s == 1} == {r for (s, _), r in ids(cold).items() if s == 2}
    assert len(cold.runs) == 2


def test_another_seed_leaves_the_first_ones_as_they_were(tmp_path: Path) -> None:
    few, more = open_grid(tmp_path), open_grid(tmp_path, seeds=[1, 2, 3])
    assert {run.run_id for run in few.runs} < {run.run_id for run in more.runs}
    assert ids(few).items() <= ids(more).items()


@pytest.mark.parametrize(
    "changes",
    [
        {"sampling": [{"temperature": 0.7, "max_tokens": 33}]},
        {"sampling": [{"temperature": 0.7, "max_tokens": 32, "stop": ["\n"]}]},
        {"models": {"toy": {**TOY, "context_length": 4095}}},
        {"models": {"toy": {**TOY, "checkpoint": "other"}}},
        {"models": {"toy": {**TOY, "revision": "2"}}},
    ],
)
def test_what_can_change_an_answer_makes_other_runs_and_requests(tmp_path: Path, changes: dict[str, Any]) -> None:
    one, two = open_grid(tmp_path / "a"), open_grid(tmp_path / "b", **changes)
    assert not {run.run_id for run in one.runs} & {run.run_id for run in two.runs}
    assert not set(ids(one).values()) & set(ids(two).values())


def test_an_edited_chat_template_makes_other_requests_and_its_text_is_what_travels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = small_grid(tmp_path, models={"toy": {**TOY, "chat_template": "own.jinja"}})
    found = []
    for folder, text in ((tmp_path, "{{ messages }}"), (tmp_path / "manifests", "{{ messages }} ")):
        monkeypatch.chdir(folder)  # the file lies beside models.yaml, wherever the command is called
        (path.parent / "own.jinja").write_text(text, "utf-8")
        found.append(resolve(path, str(tmp_path / "store")))
        assert found[-1].models["toy"].chat_template == text
    assert not set(ids(found[0]).values()) & set(ids(found[1]).values())


def test_a_template_changes_the_runs_of_its_setting_alone(tmp_path: Path) -> None:
    settings = ["zero-shot", "chain-of-thought"]
    one = open_grid(tmp_path, settings=settings)
    two = open_grid(tmp_path, settings=settings, templates=own_template(tmp_path))
    kept = {run.run_id for run in one.runs} & {run.run_id for run in two.runs}
    assert {run.setting for run in one.runs if run.run_id in kept} == {"chain-of-thought"}
    assert len(kept) == 2


def test_a_corrected_label_makes_other_runs_of_the_same_requests(tmp_path: Path) -> None:
    rows = corpus_rows()
    one = open_grid(tmp_path, rows=rows)
    two = open_grid(tmp_path, rows=[{**rows[0], "label": "satire"}, *rows[1:]])
    assert not {run.run_id for run in one.runs} & {run.run_id for run in two.runs}
    assert ids(one) == ids(two)


# --limit


def articles(grid: Grid) -> Counter[str]:
    return Counter(item.cluster_id for item in grid.slices[0].items)


@pytest.mark.parametrize("limit", [1, 4, 5, 8, 11, 12, 99])
def test_a_limit_takes_so_many_items_and_cuts_one_cluster_at_most(tmp_path: Path, limit: int) -> None:
    whole = open_grid(tmp_path)
    some = whole.limited(limit)
    assert articles(some).total() == min(limit, 12)
    assert sum(n < articles(whole)[article] for article, n in articles(some).items()) <= 1


def test_a_limit_is_the_same_whatever_the_order_of_the_file(tmp_path: Path) -> None:
    one = open_grid(tmp_path).limited(5)
    two = open_grid(tmp_path, rows=corpus_rows()[::-1]).limited(5)
    assert {i.item_id for i in one.slices[0].items} == {i.item_id for i in two.slices[0].items}


def test_smaller_limits_are_inside_larger_ones(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    taken = [{i.item_id for i in grid.limited(limit).slices[0].items} for limit in range(1, 13)]
    assert all(a < b for a, b in pairwise(taken))


def test_rows_asked_under_a_limit_are_rows_of_the_full_run(tmp_path: Path) -> None:
    grid = open_grid(tmp_path)
    assert [run.run_id for run in grid.limited(3).runs] == [run.run_id for run in grid.runs]
    assert ids(grid.limited(3)).items() < ids(grid).items()


def test_items_that_a_task_does_not_take_are_counted_and_their_labels_named(tmp_path: Path) -> None:
    rows = corpus_rows()
    rows[0]["label"] = "Satire"
    grid = open_grid(tmp_path, rows=rows)
    (sentence,) = grid.left_out()
    assert "does not take 1 of 12 items (labels: 'Satire')" in sentence
    assert open_grid(tmp_path / "whole").left_out() == []


def test_an_empty_store_is_refused_not_taken_for_the_default(tmp_path: Path) -> None:
    path = small_grid(tmp_path)
    with pytest.raises(UserError, match="neither a folder nor s3"):
        resolve(path, "")


def test_a_comparison_that_cannot_be_made_is_told_before_anything_runs(tmp_path: Path) -> None:
    path = small_grid(tmp_path, comparisons=[{"a": {"model": "toy"}, "b": {"model": "x"}}])
    with pytest.raises(UserError, match="'x'"):
        resolve(path)


@pytest.mark.parametrize("name", ["corpora", "prompts"])
def test_a_namespace_keeps_out_of_the_store_s_own_folders(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="keeps that folder"):
        resolve(small_grid(tmp_path, namespace=name))
