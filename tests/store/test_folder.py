"""What only a folder can suffer."""

import resource
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mixgrid.errors import UserError
from mixgrid.store import Store, StoreError

FOLDER = "main/predictions/corpus=x y/task=satire"
ROWS = pa.table({"item_id": ["007", "7", "NA"], "switching": ["None", "nan", ""], "n": [1, None, 3]})


def test_a_full_disk_is_an_error_and_leaves_nothing_behind(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path / "store"))
    store.put("a/b", b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(StoreError, match="cannot write 'a/b'"):
            store.put("a/b", b"x" * 200_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store.get("a/b") == b"old"
    assert [path.name for path in (tmp_path / "store" / "a").iterdir()] == ["b"]


def test_files_still_being_written_are_no_parts(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path))
    part = store.put_table(FOLDER, "part", ROWS)
    (tmp_path / FOLDER / ".mixgrid-tmp-1-ab").write_bytes(b"PAR1")
    listing = store.parts("main")
    assert (listing.whole, listing.torn, listing.foreign) == ((part,), (), ())


@pytest.mark.parametrize("place", ["/proc/none/x", "/dev/null/x"])
def test_a_folder_that_cannot_be_written_is_a_users_error(place: str) -> None:
    with pytest.raises(UserError, match="writable"):
        Store.open(place).check()


@pytest.mark.parametrize("value", [float("nan"), "\ud800"])
def test_what_json_cannot_say_is_refused_by_key(tmp_path: Path, value: object) -> None:
    with pytest.raises(StoreError, match=r"x\.json"):
        Store.open(str(tmp_path)).put_json("x.json", {"v": value})


def test_other_readers_can_open_a_part(tmp_path: Path) -> None:
    part = Store.open(str(tmp_path)).put_table(FOLDER, "part", ROWS)
    file = pq.ParquetFile(tmp_path / part.key)
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert file.read().equals(ROWS)
