"""A bad manifest is one message with file, key, value and what would be right; a good one is frozen as written."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from mixgrid.errors import UserError
from mixgrid.generate.recipe import Recipe
from mixgrid.manifest import Manifest, Resources, SamplingFields, load, load_models, model_entry
from mixgrid.nightly.manifest import NightManifest
from mixgrid.records import Sampling
from mixgrid.schemas import digest
from mixgrid.yamlfile import read_yaml

GOOD = "name: g\ncorpora: [{name: mini}]\ntasks: [satire]\nmodels: [toy]\nsettings: [zero-shot]\nseeds: [1, 2]\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "grid.yaml"


def refused(file: Path, text: str | bytes) -> str:
    """The message that loading ends with; it always names the file."""
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError) as caught:
        load(file)
    assert caught.value.exit_code == 2
    assert str(caught.value).startswith(str(file))
    return str(caught.value)


def test_a_manifest_is_as_written_and_its_defaults_are_declared(file: Path) -> None:
    file.write_text(GOOD + "resources: {toy: {replicas: 2}}\nsampling: [{task: satire, temperature: 1}]\n", "utf-8")
    manifest = load(file)
    assert (manifest.corpora[0].split, manifest.namespace, manifest.seeds) == ("test", "main", [1, 2])
    assert manifest.resources["toy"] == Resources(replicas=2)
    assert manifest.sampling[0].temperature == 1.0


def test_a_byte_order_mark_is_no_part_of_the_first_key(file: Path) -> None:
    file.write_text(GOOD, "utf-8-sig")
    assert load(file).name == "g"


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "{}"])
def test_an_empty_manifest_is_refused(file: Path, text: str) -> None:
    assert "the file is empty; it must hold keys such as `name:`" in refused(file, text)


@pytest.mark.parametrize(("text", "kind"), [("- a\n", "list"), ("hello", "str"), ("3", "int")])
def test_a_manifest_that_is_no_mapping_is_refused(file: Path, text: str, kind: str) -> None:
    assert f"the file is a {kind}" in refused(file, text)


@pytest.mark.parametrize(
    "text",
    ["a: [b", "a: b: c", "\tname: g", "a: \x00", "name: 2026-13-45", "a: *nowhere", "? [a]\n: b\n", "a: " + "[" * 5000],
    ids=["bracket", "colons", "tab", "nul", "date", "alias", "list-as-key", "deep"],
)
def test_what_is_not_yaml_is_said_to_be_so(file: Path, text: str) -> None:
    assert "not YAML: " in refused(file, text)


def test_a_yaml_tag_runs_no_code(file: Path) -> None:
    marker = file.parent / "ran"
    refused(file, GOOD + f"x: !!python/object/apply:os.mkdir ['{marker}']\n")
    assert not marker.exists()


def test_what_is_not_utf8_is_named_with_its_place(file: Path) -> None:
    assert "not UTF-8 (byte 8); save the file as UTF-8" in refused(
        file, "name: sațiră".encode("utf-16-le")[:8] + b"\xff"
    )


@pytest.mark.parametrize("name", ["absent.yaml", "."])
def test_a_path_that_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"cannot be read \(.*\); give the path of a YAML file"):
        load(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "key", "near"),
    [
        (GOOD + "languges: [ro]\n", "languges", "languages"),
        (GOOD.replace("name: mini", "name: mini, splt: x"), "corpora.0.splt", "split"),
        (GOOD + "sampling: [{temprature: 1}]\n", "sampling.0.temprature", "temperature"),
        (GOOD + "resources: {toy: {replica: 1}}\n", "resources.toy.replica", "replicas"),
        (GOOD + "comparisons: [{a: {}, b: {}, familly: x}]\n", "comparisons.0.familly", "family"),
    ],
)
def test_an_unknown_key_at_any_depth_gets_the_nearest_and_all_allowed(
    file: Path, text: str, key: str, near: str
) -> None:
    message = refused(file, text)
    assert f"unknown key '{key}'; did you mean '{near}'? Allowed: " in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("top_k: 0.2", "key 'sampling.0.top_k': 0.2 is not right: it should be a valid integer"),
        ("top_k: 0", "key 'sampling.0.top_k': 0 is not right: it should be greater than or equal to 1"),
        ("temperature: -1", "'sampling.0.temperature': -1 is not right: it should be greater than or equal to 0"),
        ("temperature: .nan", "'sampling.0.temperature': nan is not right"),
        ("temperature: .inf", "'sampling.0.temperature': inf is not right: it should be less than or equal to 2"),
        ("temperature: '1'", "'sampling.0.temperature': '1' is not right: it should be a valid number"),
        ("top_p: 0", "'sampling.0.top_p': 0 is not right: it should be greater than 0"),
        ("min_p: 1.5", "'sampling.0.min_p': 1.5 is not right: it should be less than or equal to 1"),
        ("max_tokens: 0", "'sampling.0.max_tokens': 0 is not right: it should be greater than or equal to 1"),
        ("max_tokens: yes", "'sampling.0.max_tokens': True is not right: it should be a valid integer"),
        ("repetition_penalty: 0", "'sampling.0.repetition_penalty': 0 is not right: it should be greater than 0"),
        ("regex: ''", "'sampling.0.regex': '' is not right: String should have at least 1 character"),
        ("regex: '('", "key 'sampling.0.regex': '(' is not right: "),
        ("stop: ['']", "'sampling.0.stop.0': '' is not right: String should have at least 1 character"),
    ],
)
def test_a_sampling_value_that_cannot_be_is_refused(file: Path, text: str, says: str) -> None:
    assert says in refused(file, GOOD + f"sampling:\n  - {text}\n")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("seeds: [1, 2]", "seeds: [1, 1]", "key 'seeds': '1' stands there twice; keep one"),
        ("seeds: [1, 2]", "seeds: []", "key 'seeds': [] is not right"),
        ("seeds: [1, 2]", "seeds: [-1]", "key 'seeds.0': -1 is not right: it should be greater than or equal to 0"),
        ("seeds: [1, 2]", "seeds: [2147483648]", "key 'seeds.0': 2147483648 is not right"),
        ("seeds: [1, 2]", "seeds: [yes]", "key 'seeds.0': True is not right"),
        ("models: [toy]", "models: [toy, toy]", "key 'models': 'toy' stands there twice"),
        (
            "{name: mini}",
            "{name: mini}, {name: mini}",
            "key 'corpora': \"name='mini' split='test'\" stands there twice",
        ),
        ("tasks: [satire]", "tasks: satire", "key 'tasks': 'satire' is not right: it should be a valid list"),
        ("tasks: [satire]\n", "", "key 'tasks' is missing; add it"),
        ("seeds: [1, 2]", f"seeds: {list(range(1001))}", "... is not right: name at most 1000, not 1001"),
        ("seeds: [1, 2]", "seeds: []", "key 'seeds': [] is not right: name at least 1"),
        ("{name: mini}", "mini", "key 'corpora.0': 'mini' is not right: write keys and values below it"),
        ("name: g\n", "name: a b\n", "key 'name': 'a b' is not right: write a name of letters, digits and . _ -"),
        ("name: g\n", "name: g\nname: h\n", "key 'name' stands there twice at line 2, column 1"),
        ("name: mini", "name: mini, name: other", "key 'name' stands there twice"),
    ],
)
def test_values_given_twice_missing_or_of_another_kind(file: Path, old: str, new: str, says: str) -> None:
    assert old in GOOD
    assert says in refused(file, GOOD.replace(old, new))


@pytest.mark.parametrize("name", ["../main", "a/b", "..", ".", "", "/abs", "-rf", "a b", "a\\nb", "x" * 101])
@pytest.mark.parametrize("key", ["namespace", "name"])
def test_a_name_that_could_leave_its_folder_is_refused(file: Path, key: str, name: str) -> None:
    data = {**yaml.safe_load(GOOD), key: name}
    assert f"key '{key}'" in refused(file, yaml.safe_dump(data))


def test_merge_keys_work_and_what_they_bring_in_may_be_hidden(file: Path) -> None:
    file.write_text(GOOD + "sampling:\n  - &base {temperature: 1, top_k: 5}\n  - {<<: *base, top_k: 9}\n", "utf-8")
    assert (load(file).sampling[1].temperature, load(file).sampling[1].top_k) == (1.0, 9)


def test_a_value_of_several_possible_kinds_gets_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "models.yaml"
    file.write_text("models: {m: {engine: vllm, checkpoint: c, context_length: 99, engine_args: {a: {b: 1}}}}", "utf-8")
    with pytest.raises(UserError) as caught:
        load_models(file)
    assert "key 'models.m.engine_args.a': {'b': 1} is not right" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("price: 4", "key 'models.m.price': 4 is not right: write keys and values below it; or: it should be 'free'"),
        ("price: {input: 1}", "key 'models.m.price.output' is missing; add it (see README)"),
        ("price: {input: x, output: 1}", "key 'models.m.price.input': 'x' is not right: it is no number"),
        ("chat_template: none.jinja", "'none.jinja' is not right: no readable file beside models.yaml (No such file"),
    ],
)
def test_no_sentence_speaks_of_pydantic(tmp_path: Path, entry: str, says: str) -> None:
    file = tmp_path / "models.yaml"
    file.write_text(f"models: {{m: {{engine: openai, checkpoint: c, context_length: 99, {entry}}}}}", "utf-8")
    with pytest.raises(UserError) as caught:
        load_models(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert says in str(caught.value)
    assert not re.search(
        r"instance of|Value error|literal|Entry|\[key\]|after validation|Errno|pydantic", str(caught.value)
    )


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("grid: smoke.yaml", Manifest, "this file is a nightly job (it has the key 'grid'), not a grid; "
                                       "give it to `mixgrid nightly`"),
        ("name: x\ncorpus: y\nmodel: z", Manifest, "a recipe of a corpus (it has the key 'corpus'), not a grid; "
                                                   "give it to `mixgrid generate`"),
        ("rules: []", Manifest, "this file is a policy"),
        ("models: {}", Manifest, "a catalogue of models (it has the key 'models'), not a grid; it stands beside"),
        (GOOD, NightManifest, "a grid (it has the key 'tasks'), not a nightly job; give it to `mixgrid plan`"),
        ("grid: smoke.yaml", Recipe, "not a recipe of a corpus; give it to `mixgrid nightly`"),
        ("", NightManifest, "the file is empty; it must hold keys such as `grid:` (see README)"),
        ("", Recipe, "the file is empty; it must hold keys such as `name:` and `corpus:`"),
        ("", Manifest, "the file is empty; it must hold keys such as `name:` and `corpora:`"),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_says_which_command_takes_it(
    tmp_path: Path, text: str, kind: type[BaseModel], says: str
) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(UserError) as caught:
        read_yaml(file, kind)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_key_of_a_model_is_named_among_a_model_s_keys(tmp_path: Path) -> None:
    file = tmp_path / "models.yaml"
    file.write_text("models: {m: {engine: vllm, checkpoint: c, context_length: 99, chat_templat: x}}", "utf-8")
    with pytest.raises(UserError, match=r"unknown key 'models.m.chat_templat'; did you mean 'chat_template'\?"):
        load_models(file)


def test_a_model_that_is_not_in_the_catalogue_gets_the_nearest_name(tmp_path: Path) -> None:
    file = tmp_path / "models.yaml"
    file.write_text("models: {llama-8b: {engine: vllm, checkpoint: c, context_length: 99}}", "utf-8")
    with pytest.raises(UserError, match=r"g.yaml: there is no model 'lama-8b'; did you mean 'llama-8b'\?"):
        model_entry(load_models(file), "lama-8b", "g.yaml")


def test_sampling_layers_keep_what_they_do_not_set() -> None:
    below = Sampling(temperature=0.5, top_k=7, stop=("a",))
    assert SamplingFields(temperature=0.0, stop=[]).over(below) == Sampling(temperature=0.0, top_k=7, stop=())
    assert SamplingFields().over(below) == below


def test_a_whole_number_and_its_float_are_the_same_sampling(file: Path) -> None:
    found = []
    for text in ("1", "1.0"):
        file.write_text(GOOD + f"sampling: [{{temperature: {text}}}]\n", "utf-8")
        found.append(digest(vars(load(file).sampling[0].over(Sampling()))))
    assert found[0] == found[1]


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(Manifest.model_fields)) | st.text(max_size=5), TREES, max_size=6))
def test_any_other_tree_of_values_is_refused_with_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, object]
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    assert refused(file, yaml.safe_dump({**tree, "seeds": 1}, allow_unicode=True))
