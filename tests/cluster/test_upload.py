"""What travels with a job is what its manifest names: not the secrets, notes and data that lie beside it."""

from pathlib import Path

import pytest

from mixgrid.cluster.upload import Upload, pack
from mixgrid.errors import UserError
from mixgrid.plan.grid import resolve
from tests.helpers import TOY, own_template, small_grid

SECRET = "5f9d-not-for-anyone-77aa"
PLACES = (
    ".env", "manifests/.env", "manifests/secrets.yaml", "manifests/api.key", "manifests/notes.txt", ".git/config",
    "manifests/prompts/.hidden.jinja", "manifests/prompts/satire/token.key", "manifests/other/models.yaml",
    "mixgrid-store/main/x.parquet", "manifests/samples/unused.jsonl", ".ssh/id_rsa",
)  # fmt: skip


def names(upload: Upload) -> set[str]:
    """Of the grid's own files."""
    return {file.name for file in upload.files if file.name.startswith("grid/")}


def test_nothing_but_what_is_named_travels_and_no_secret_beside_it(tmp_path: Path) -> None:
    path = small_grid(tmp_path, templates=own_template(tmp_path))
    for place in PLACES:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(f"OPENAI_API_KEY={SECRET}", "utf-8")
    upload = pack(path)
    assert names(upload) == {
        "grid/grid.yaml", "grid/models.yaml", "grid/corpora.yaml", "grid/mini.jsonl",
        "grid/prompts/satire/zero-shot.jinja",
    }  # fmt: skip
    upload.write(tmp_path / "job")
    there = [file for file in (tmp_path / "job").rglob("*") if file.is_file()]
    assert len(there) == len(upload.files)
    assert not [file for file in there if SECRET.encode() in file.read_bytes()]


def test_what_travels_is_the_same_grid(tmp_path: Path) -> None:
    """Run ids cover templates, data and models, so equal ids mean that nothing was lost on the way."""
    model = {**TOY, "chat_template": "chat/toy.jinja"}
    path = small_grid(tmp_path, models={"toy": model}, templates=own_template(tmp_path))
    (path.parent / "chat").mkdir()
    (path.parent / "chat/toy.jinja").write_text("{{ messages }}", "utf-8")
    upload = pack(path)
    upload.write(tmp_path / "job")
    there = resolve(tmp_path / "job" / upload.manifest, str(tmp_path / "s"))
    assert [run.run_id for run in there.runs] == [run.run_id for run in resolve(path, str(tmp_path / "s")).runs]


def test_the_package_travels_whole_and_without_compiled_files(tmp_path: Path, root: Path) -> None:
    upload = pack(small_grid(tmp_path))
    sent = {file.name for file in upload.files if file.name.startswith("mixgrid/")}
    package = root / "lib" / "mixgrid"
    code = {f"mixgrid/{f.relative_to(package).as_posix()}" for f in package.rglob("*.py")}
    assert code <= sent
    assert "mixgrid/templates/satire/zero-shot.jinja" in sent
    assert not [name for name in sent if "__pycache__" in name or name.endswith(".pyc")]


def test_files_above_the_manifest_keep_their_places(tmp_path: Path) -> None:
    path = small_grid(tmp_path)
    (tmp_path / "data").mkdir()
    (path.parent / "mini.jsonl").rename(tmp_path / "data/mini.jsonl")
    catalogue = path.parent / "corpora.yaml"
    catalogue.write_text(catalogue.read_text("utf-8").replace("mini.jsonl", "../data/mini.jsonl"), "utf-8")
    upload = pack(path)
    assert upload.manifest == "grid/manifests/grid.yaml"
    assert {"grid/data/mini.jsonl", "grid/manifests/grid.yaml"} <= names(upload)


def test_an_absolute_path_is_told_and_not_sent(tmp_path: Path) -> None:
    path = small_grid(tmp_path)
    catalogue = path.parent / "corpora.yaml"
    catalogue.write_text(catalogue.read_text("utf-8").replace("mini.jsonl", str(path.parent / "mini.jsonl")), "utf-8")
    upload = pack(path)
    assert upload.elsewhere == (str(path.parent / "mini.jsonl"),)
    assert "grid/mini.jsonl" not in names(upload)


def test_a_manifest_that_names_another_brings_it_and_its_files(tmp_path: Path) -> None:
    path = small_grid(tmp_path)
    outer = path.parent / "nightly.yaml"
    outer.write_text("grid: grid.yaml\nname: ''\nkeep: 7\n", "utf-8")
    upload = pack(outer)
    assert upload.manifest == "grid/nightly.yaml"
    assert names(upload) == {
        "grid/nightly.yaml", "grid/grid.yaml", "grid/models.yaml", "grid/corpora.yaml", "grid/mini.jsonl"
    }  # fmt: skip


@pytest.mark.parametrize("value", ["''", ".", "..", "x" * 5000, "'a\\0b'"])
def test_a_value_that_is_no_file_s_name_brings_nothing(tmp_path: Path, value: str) -> None:
    outer = tmp_path / "outer.yaml"
    outer.write_text(f"note: {value.replace(chr(39), chr(34))}\n", "utf-8")
    assert names(pack(outer)) == {"grid/outer.yaml"}


def test_a_key_of_this_shell_in_a_file_that_travels_is_refused(tmp_path: Path) -> None:
    path = small_grid(tmp_path)
    with (path.parent / "mini.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"\n# {SECRET}")
    with pytest.raises(UserError, match=r"mini.jsonl holds the value of OPENAI_API_KEY .*take it out") as error:
        pack(path).check(2**29, {"OPENAI_API_KEY": SECRET})
    assert SECRET not in str(error.value)
    pack(path).check(2**29, {"OPENAI_API_KEY": "x" * 9, "SHORT_TOKEN": "the", "HOME": "satire"})


def test_more_than_ray_takes_is_refused_with_what_weighs(tmp_path: Path) -> None:
    path = small_grid(tmp_path)
    with (path.parent / "mini.jsonl").open("ab") as file:
        file.truncate(3 * 2**20)
    with pytest.raises(UserError, match=r"Ray takes less than 2\.0 MiB; largest: .*mini\.jsonl \(3\.0 MiB\)"):
        pack(path).check(2 * 2**20)
    assert pack(path).largest()[0].source.name == "mini.jsonl"
    assert len(pack(path).largest()) == 10


def test_a_linked_catalogue_names_files_from_the_link_s_place(tmp_path: Path) -> None:
    path = small_grid(tmp_path / "real")
    here = tmp_path / "here"
    here.mkdir()
    for name in ("grid.yaml", "models.yaml", "corpora.yaml", "mini.jsonl"):
        (here / name).symlink_to(path.parent / name)
    assert names(pack(here / "grid.yaml")) == {
        "grid/grid.yaml", "grid/models.yaml", "grid/corpora.yaml", "grid/mini.jsonl"
    }  # fmt: skip
