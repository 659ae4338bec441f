"""Where a corpus file's bytes come from: a path beside the catalogue, S3, or the hub at a pinned revision."""

from pathlib import Path

import huggingface_hub.constants as hub
import pytest

from mixgrid.corpora import read
from mixgrid.errors import UserError
from mixgrid.store import Store
from tests.corpora.conftest import Declare

CSV = b"id,text,label\n007,ami jabo,None\n"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
IN_REPO = "ID-EN/answerable (id-en)/test-00000-of-00001.csv"


def test_a_relative_path_starts_from_the_catalogue(
    declare: Declare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "c.csv").write_bytes(CSV)
    monkeypatch.chdir("/")
    assert read(declare("samples/c.csv"))[0].item_id == "007"


def test_an_object_on_s3(declare: Declare, s3_store_url: str) -> None:
    Store.open(s3_store_url).put("data/c d.csv", CSV)
    assert read(declare(f"{s3_store_url}/data/c d.csv"))[0].item_id == "007"
    with pytest.raises(UserError, match=r"the object s3://.*gone\.csv is not there. Ask its authors"):
        read(declare(f"{s3_store_url}/data/gone.csv", obtain="Ask its authors"))


def test_a_bucket_that_refuses_is_a_sentence(
    declare: Declare, s3_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(UserError, match="corpus 'c'"):
        read(declare(f"{s3_store_url}/data/c.csv"))


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub, which is not asked."""
    monkeypatch.setattr(hub, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(hub, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def test_a_file_of_the_hub_at_a_commit(declare: Declare, hub_cache: Path) -> None:
    kept = hub_cache / "datasets--code-switching--question-answer" / "snapshots" / COMMIT / IN_REPO
    kept.parent.mkdir(parents=True)
    kept.write_bytes(CSV)
    path = f"hf://datasets/code-switching/question-answer@{COMMIT}/{IN_REPO}"
    assert read(declare(path))[0].item_id == "007"


def test_a_hub_that_cannot_be_reached_is_a_sentence(declare: Declare, hub_cache: Path) -> None:
    del hub_cache
    with pytest.raises(UserError, match="not in the local cache, and the hub cannot be reached"):
        read(declare(f"hf://datasets/org/name@{COMMIT}/c.csv"))


@pytest.mark.parametrize("path", ["org/name/c.csv", "org/name@main/c.csv", "org/name@/c.csv", "c.csv"])
def test_a_hub_file_without_a_pinned_revision_is_refused(declare: Declare, path: str) -> None:
    with pytest.raises(UserError, match="must pin a revision"):
        read(declare(f"hf://datasets/{path}"))


def test_a_hub_that_does_not_answer_is_not_waited_for(
    declare: Declare, hub_cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    del hub_cache
    monkeypatch.setattr(hub, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(UserError, match="the hub cannot be reached; connect this machine, or download the file"):
        read(declare(f"hf://datasets/org/name@{COMMIT}/c.csv"))
    assert "Retry" not in caplog.text


@pytest.mark.parametrize("path", ["s3://bucket", "s3:///key.csv", "s3://bucket/folder/", "s3:/bucket/key.csv", "hf:/x"])
def test_a_remote_path_that_names_no_object(declare: Declare, path: str) -> None:
    says = "names no object; write s3://bucket/key" if path.startswith("s3://") else "is neither a file, an object"
    with pytest.raises(UserError, match=rf"corpora.yaml: corpus 'c': key 'path': '{path}' {says}"):
        read(declare(path, format="csv"))


def test_a_snapshot_does_not_lie_on_the_hub(declare: Declare) -> None:
    with pytest.raises(UserError, match="a snapshot lies in a folder or under s3://bucket, not at 'hf://"):
        read(declare("hf://datasets/a/b@c0/corpora/x", reader="snapshot", columns={}, constants={}))


def test_a_file_that_is_not_there_says_how_to_get_it(declare: Declare, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"corpus 'c': .*none\.csv is not there. Clone it"):
        read(declare(tmp_path / "none.csv", obtain="Clone it"))


def test_a_folder_and_an_unknown_scheme_are_refused(declare: Declare, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UserError, match="cannot be read"):
        read(declare(tmp_path / "folder.csv"))
    with pytest.raises(UserError, match="is neither a file, an object s3://bucket/key nor a hub's file"):
        read(declare("ftp://host/c.csv"))
