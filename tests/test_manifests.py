"""The shipped catalogue and grids: every entry can be used, and each paper's grid is what the paper prints."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from mixgrid.corpora.catalogue import load_corpora
from mixgrid.engines import ENGINES, PLANNED
from mixgrid.errors import UserError
from mixgrid.generate.recipe import Recipe
from mixgrid.generate.recipe import resolve as resolve_recipe
from mixgrid.manifest import ModelEntry, SamplingFields, load, load_models
from mixgrid.plan.decoding import sampling_of
from mixgrid.plan.estimate import Estimate, estimate
from mixgrid.plan.grid import resolve
from mixgrid.plan.names import check_entry
from mixgrid.plan.summary import summary
from mixgrid.records import Sampling
from mixgrid.tasks import TASKS
from mixgrid.yamlfile import read_yaml
from tests.conftest import ROOT

PLACE = ROOT / "manifests"
MODELS = load_models(PLACE / "models.yaml")
RECIPES = ("generate.yaml", "generate_sample.yaml")
NO_GRIDS = ("corpora.yaml", "models.yaml", "nightly.yaml", *RECIPES)
GRIDS = sorted(path.name for path in PLACE.glob("*.yaml") if path.name not in NO_GRIDS)
RUNNABLE = ("api_sweep.yaml", "smoke.yaml", "smoke_tasks.yaml")
PAPERS = ("cs_selerosa.yaml", "mixsarc.yaml", "pingpong.yaml")
OWN = ("canned", "smollm2-135m-instruct")
PINGPONG = (
    "qwen2.5-3b", "qwen2.5-7b", "qwen3-4b", "qwen3-8b", "aya23-8b", "gemma2-9b", "gemma3-4b", "sailor2-8b",
    "sahabat-ai-gemma", "silma-9b", "allam-7b",
)  # fmt: skip


def sampling(model: str, task: str, setting: str) -> Sampling:
    grid = load(PLACE / "pingpong.yaml").model_copy(update={"sampling": []})
    return sampling_of(grid, model, MODELS[model], task, TASKS[task].settings[setting])


# The catalogue


@pytest.mark.parametrize("name", MODELS)
def test_an_entry_can_be_used_or_says_that_it_waits_for_its_engine(name: str) -> None:
    entry = MODELS[name]
    check_entry(entry, name)
    assert entry.engine in (*ENGINES, *PLANNED)
    if name not in OWN:
        assert entry.revision is None
        assert "not in the paper" in entry.note
        assert entry.sampling


@pytest.mark.parametrize("name", [name for name, entry in MODELS.items() if entry.engine == "vllm" and name not in OWN])
def test_an_open_model_has_gpus_of_both_kinds_room_for_its_answer_and_full_precision(name: str) -> None:
    entry = MODELS[name]
    assert set(entry.gpus) == {"H100-80GB", "A100-80GB"}
    assert (entry.dtype, entry.quantization) == ("bfloat16", None)
    assert all(fields.max_tokens and fields.max_tokens < entry.context_length for fields in entry.sampling.values())


def test_every_model_that_the_papers_name_is_there() -> None:
    satire = {
        "gemma-3-27b", "gemma-4-26b-a4b", "gemma-4-31b", "llama-3.1-8b", "romistral-7b", "rollama-3.1-8b",
        "rogemma-2-9b", "gpt-4.1-mini", "gpt-5-mini", "gpt-6-luna", "gpt-5", "gpt-6-astra", "gpt-6-sol", "gpt-6.1-sol",
    }  # fmt: skip
    tuned = {name for name in MODELS if "-ft-" in name}
    mixsarc = set(load(PLACE / "mixsarc.yaml").models)
    assert len(mixsarc) == 7
    assert set(MODELS) == {*OWN, *satire, *tuned, *mixsarc, *PINGPONG}
    assert {name.split("-ft-")[0] for name in tuned} == {n for n in satire if MODELS[n].engine == "vllm"}
    assert all(MODELS[name].adapter for name in tuned)


@pytest.mark.parametrize(
    ("model", "printed"),
    [
        ("gemma-3-27b", (1.0, 0.95, 64, 2048)),
        ("gemma-4-26b-a4b", (1.0, 0.95, 64, 2048)),
        ("gemma-4-31b", (1.0, 0.95, 64, 2048)),
        ("llama-3.1-8b", (0.8, None, None, 2048)),
        ("romistral-7b", (0.8, None, None, 2048)),
        ("rollama-3.1-8b", (0.8, None, None, 2048)),
        ("gpt-5-mini", (1.0, None, None, 2048)),
    ],
)
def test_satire_is_sampled_as_printed_in_e2(model: str, printed: tuple[Any, ...]) -> None:
    found = sampling(model, "satire", "zero-shot")
    assert (found.temperature, found.top_p, found.top_k, found.max_tokens) == printed


@pytest.mark.parametrize(
    ("model", "setting", "printed"),
    [
        ("qwen2.5-3b", "0-shot", (0.7, 0.8, 20, 512)),
        ("qwen2.5-7b", "1-shot", (0.7, 0.8, 20, 512)),
        ("qwen3-4b", "0-shot", (0.7, 0.8, 20, 8192)),
        ("qwen3-4b", "0-shot-thinking", (0.6, 0.95, 20, 8192)),
        ("qwen3-8b", "0-shot-thinking", (0.6, 0.95, 20, 8192)),
        ("aya23-8b", "0-shot", (0.3, 1.0, 1, 512)),
        ("gemma2-9b", "0-shot", (0.1, 0.9, 5, 512)),
        ("gemma3-4b", "0-shot", (0.2, 0.9, 10, 512)),
        ("sailor2-8b", "0-shot", (0.3, 0.9, 30, 512)),
        ("sahabat-ai-gemma", "0-shot", (0.1, 0.9, 5, 512)),
        ("silma-9b", "0-shot", (0.3, 0.9, 10, 512)),
        ("allam-7b", "0-shot", (0.4, 0.9, 20, 512)),
    ],
)
def test_questions_are_sampled_as_printed_in_table_7(model: str, setting: str, printed: tuple[Any, ...]) -> None:
    found = sampling(model, "dialogue-qa", setting)
    assert (found.temperature, found.top_p, found.top_k, found.max_tokens) == printed
    assert found.min_p == 0


@pytest.mark.parametrize("task", ["dialogue-summary", "dialogue-topic"])
@pytest.mark.parametrize("model", PINGPONG)
def test_summaries_and_topics_are_sampled_alike_by_all_models(model: str, task: str) -> None:
    found = sampling(model, task, "0-shot")
    assert (found.temperature, found.top_p, found.top_k, found.min_p, found.max_tokens) == (0.7, 0.8, 50, None, 2000)


def test_the_misprints_of_table_7_are_named() -> None:
    text = (PLACE / "models.yaml").read_text("utf-8")
    assert '"0.20"' in text
    assert '"Min-K"' in text


def test_implicit_meaning_is_asked_at_temperature_0() -> None:
    grid = load(PLACE / "mixsarc.yaml")
    assert {sampling(model, "implicit-meaning", "zero-shot").temperature for model in grid.models} == {0}


def test_reasoning_models_think_with_medium_effort_and_switches_are_named() -> None:
    assert {name for name, entry in MODELS.items() if entry.reasoning_effort == "medium"} == {
        "gpt-5-mini", "gpt-5", "gpt-6-luna", "gpt-6-astra", "gpt-6-sol", "gpt-6.1-sol"
    }  # fmt: skip
    assert {MODELS[name].thinking_switch for name in ("qwen3-4b", "qwen3-8b")} == {"enable_thinking"}
    assert {n for n in PINGPONG if MODELS[n].thinking_switch} == {"qwen3-4b", "qwen3-8b"}
    gemma_2 = ("gemma2-9b", "sahabat-ai-gemma", "rogemma-2-9b", "silma-9b")
    assert not any(MODELS[name].system_role for name in gemma_2)


# The grids


def test_every_shipped_grid_is_one_of_these() -> None:
    assert set(GRIDS) >= {*RUNNABLE, *PAPERS}


@pytest.mark.parametrize("name", GRIDS)
def test_every_grid_has_a_size_without_data_or_models(name: str) -> None:
    found = estimate(PLACE / name)
    assert found.requests > 0
    assert found.prompt_tokens > found.requests


@pytest.mark.parametrize("name", RUNNABLE)
def test_what_is_at_hand_is_planned_as_it_will_run(name: str, tmp_path: Path) -> None:
    grid = resolve(PLACE / name, str(tmp_path / "store"))
    assert len(grid.runs) == estimate(PLACE / name).runs


@pytest.mark.parametrize("name", ["cs_selerosa.yaml", "mixsarc.yaml"])
def test_a_grid_with_models_that_nothing_answers_for_yet_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"of this version.*`mixgrid plan` sizes it"):
        resolve(PLACE / name, str(tmp_path / "store"))


def test_a_paper_s_grid_is_planned_exactly_once_its_data_is_there(tmp_path: Path) -> None:
    """By the steps of manifests/README.md: the files in their places. What nothing answers for yet is a warning."""
    catalogue = yaml.safe_load((PLACE / "corpora.yaml").read_text("utf-8"))["corpora"]
    names = ("cs-selerosa", "cs-selerosa-gold")
    (tmp_path / "data").mkdir()
    cells = [(language, method) for language in ("en", "de") for method in ("random", "llm")]
    for name in names:
        rows = [
            {"id": f"{n}-{language}-{method}", "source_id": n, "news_id": n, "split": "test", "language": language,
             "method": method, "k": 1, "text": f"Primarul a zis {n}.", "label": str(n % 2), "domain": "x"}
            for n in range(3) for language, method in cells
        ]  # fmt: skip
        (tmp_path / catalogue[name]["path"]).write_text("\n".join(map(json.dumps, rows)), "utf-8")
    header = "index,news_id,sentence,domain,label_0,label_1,label_2,label,split\n"
    (tmp_path / "selerosa.csv").write_text(header + "7,1,Un pod.,x,1,1,1,1,test\n", "utf-8")
    selerosa = {**catalogue["selerosa"], "path": "selerosa.csv"}
    entries = {"corpora": {"selerosa": selerosa, **{name: catalogue[name] for name in names}}}
    (tmp_path / "corpora.yaml").write_text(yaml.safe_dump(entries), "utf-8")
    shutil.copy(PLACE / "models.yaml", tmp_path)
    shutil.copy(PLACE / "cs_selerosa.yaml", tmp_path)
    found = resolve(tmp_path / "cs_selerosa.yaml", str(tmp_path / "store"), to_run=False)
    sizes = {run.corpus: found.sizes[run.run_id] for run in found.runs}
    assert sizes == {"selerosa": 1, "cs-selerosa": 12, "cs-selerosa-gold": 12}
    assert {run.setting for run in found.runs} == {"zero-shot", "chain-of-thought", "fine-tuning"}
    told = [warning for warning in summary(found).warnings if "`mixgrid run` refuses a grid with it" in warning]
    assert [warning.split(":")[0] for warning in told] == [f"model {name}" for name in found.models if "-ft-" in name]


def test_the_recipe_of_the_paper_s_corpus_is_as_printed() -> None:
    recipe = read_yaml(PLACE / "generate.yaml", Recipe)
    assert (recipe.corpus, recipe.splits, recipe.model, recipe.variants) == ("selerosa", None, "gemma-3-27b", 3)
    assert recipe.languages == ["en", "de", "fr", "it"]
    assert set(recipe.switching) == {"random", "phrase", "dependency", "llm"}
    assert recipe.switching["random"] == {"share": 0.5}
    assert recipe.switching["dependency"] == {"parser": "ro_core_news_lg"}


def test_the_sample_recipe_is_resolved_as_it_will_run(tmp_path: Path) -> None:
    job = resolve_recipe(PLACE / "generate_sample.yaml", str(tmp_path / "store"))
    assert {item.language for item in job.sentences} == {"ro"}
    assert set(job.methods) == {"random", "phrase", "llm"}


@pytest.fixture(scope="module")
def sizes() -> dict[str, Estimate]:
    return {name: estimate(PLACE / name) for name in PAPERS}


def seeds(found: Estimate, **fields: str) -> int:
    """Over the rows with these fields; 0 where there is none."""
    return sum(row.seeds for row in found.rows if all(getattr(row, key) == value for key, value in fields.items()))


def test_satire_is_the_cells_that_the_paper_prints(sizes: dict[str, Estimate]) -> None:
    found = sizes["cs_selerosa.yaml"]
    per_corpus = {size.corpus: sum(cell.items for cell in size.cells) for size in found.sizes}
    assert per_corpus["selerosa"] == 2073
    assert per_corpus["cs-selerosa"] == 2073 * 3 * 16
    mixed = {"corpus": "cs-selerosa", "setting": "zero-shot"}
    assert seeds(found, model="gemma-4-31b", **mixed) == 3
    assert (seeds(found, model="gpt-5-mini", **mixed), seeds(found, model="gpt-6-sol", **mixed)) == (1, 0)
    gold = {"corpus": "cs-selerosa-gold"}
    assert seeds(found, model="gpt-6-sol", **gold) == seeds(found, model="gpt-5-mini", **gold) == 3
    thought = {**gold, "setting": "chain-of-thought"}
    assert (seeds(found, model="gpt-4.1-mini", **thought), seeds(found, model="gpt-6-luna", **thought)) == (1, 0)
    tuned = {(row.corpus, row.model) for row in found.rows if row.setting == "fine-tuning"}
    assert len(tuned) == 7 + 2 * 7
    assert all(("-ft-ro" in model) == (corpus == "selerosa") for corpus, model in tuned)


def test_implicit_meaning_is_seven_models_once(sizes: dict[str, Estimate]) -> None:
    found = sizes["mixsarc.yaml"]
    assert (found.runs, found.requests) == (7, 7 * 1363)
    assert {row.model for row in found.rows if row.setting == "fine-tuning"} == {"banglish-bert", "gemma-2b"}


def test_dialogues_have_the_dashes_of_table_5(sizes: dict[str, Estimate]) -> None:
    found = sizes["pingpong.yaml"]
    plain = [row for row in found.rows if (row.setting, row.corpus) == ("0-shot", "pingpong-qa")]
    cells = {row.model: row.cells for row in plain}
    assert cells == dict.fromkeys(PINGPONG, 5) | {
        "sailor2-8b": 3, "sahabat-ai-gemma": 3, "silma-9b": 1, "allam-7b": 1
    }  # fmt: skip
    assert sum(cells.values()) == 43  # the cells of Table 5 that hold a number, for one task
    dashes = {(a.model, a.language) for a in found.absent if a.setting == "all"}
    assert ("sailor2-8b", "ha-en") in dashes
    assert ("allam-7b", "id-en") in dashes
    assert not any(model == "gemma2-9b" for model, _ in dashes)


def test_reasoning_is_thinking_where_there_is_a_switch_and_asked_for_elsewhere(sizes: dict[str, Estimate]) -> None:
    rows = sizes["pingpong.yaml"].rows
    asked = {
        setting: {row.model for row in rows if row.setting == setting}
        for setting in ("0-shot-reasoning", "0-shot-thinking")
    }
    assert asked["0-shot-thinking"] == {"qwen3-4b", "qwen3-8b"}
    assert asked["0-shot-reasoning"] == set(PINGPONG) - asked["0-shot-thinking"]
    assert {row.task for row in rows if row.setting == "3-shot"} == {"dialogue-summary"}


def test_every_corpus_of_the_papers_declares_its_test_split() -> None:
    corpora = load_corpora(PLACE / "corpora.yaml")
    for name in PAPERS:
        for choice in load(PLACE / name).corpora:
            assert any(count.split == choice.split for count in corpora[choice.name].entry.counts), choice.name


def test_an_entry_that_samples_for_no_task_is_refused() -> None:
    entry = ModelEntry(engine="canned", checkpoint="none", context_length=99, sampling={"dialog-qa": SamplingFields()})
    with pytest.raises(UserError, match=r"nothing is sampled for 'dialog-qa'; did you mean 'dialogue-qa'\?"):
        check_entry(entry, "m")
