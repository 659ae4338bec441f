"""Free GPU memory, as a fake `nvidia-smi` tells it."""

import stat
from pathlib import Path

import pytest

from mixgrid.engines.gpus import wait_until_free
from mixgrid.errors import MixgridError

TOOL = """#!/bin/sh
echo "$@" >> {folder}/asked
head -n 1 {folder}/used > {folder}/now
tail -n +2 {folder}/used > {folder}/rest
[ -s {folder}/rest ] && mv {folder}/rest {folder}/used
echo "0, $(cat {folder}/now), 81559"
"""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder: `used` holds what the tool says at each look, `asked` how it was asked."""
    script = tmp_path / "nvidia-smi"
    script.write_text(TOOL.format(folder=tmp_path))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,4")
    return tmp_path


def looks(folder: Path) -> list[str]:
    return (folder / "asked").read_text().splitlines()


def test_memory_that_is_freed_is_waited_for(tool: Path) -> None:
    (tool / "used").write_text("70000\n30000\n500\n")
    wait_until_free(look_s=0.01)
    assert len(looks(tool)) == 3
    assert all(look.endswith("--id=3,4") for look in looks(tool))


def test_memory_that_stays_busy_is_an_error_with_its_place(tool: Path) -> None:
    (tool / "used").write_text("70000\n")
    with pytest.raises(MixgridError, match=r"GPU memory is in use on .* \(GPU 0: 70000 of 81559 MiB\).*nvidia-smi"):
        wait_until_free(patience_s=0.1, look_s=0.02)


def test_an_engine_that_takes_less_fits_beside_another(tool: Path) -> None:
    (tool / "used").write_text("30000\n")
    wait_until_free(takes=0.4, patience_s=0.0)


@pytest.mark.parametrize("told", ["[N/A]", "not a number"])
def test_a_gpu_that_tells_nothing_is_taken_as_it_is(tool: Path, told: str) -> None:
    (tool / "used").write_text(f"{told}\n")
    wait_until_free(patience_s=0.0)


def test_no_gpu_and_no_tool_is_no_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    wait_until_free(patience_s=0.0)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setenv("PATH", str(tmp_path))
    wait_until_free(patience_s=0.0)
