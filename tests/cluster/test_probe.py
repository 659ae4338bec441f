"""What is tried on a node, with real programs and files in the place of what may be wrong there."""

import re
import tomllib
from pathlib import Path

import pytest

from mixgrid.cluster import probe as module
from mixgrid.cluster.probe import PINS, Finding, probe
from mixgrid.errors import UserError
from mixgrid.manifest import ModelEntry
from mixgrid.store import Store

CANNED = ModelEntry(engine="canned", checkpoint="none", context_length=64)
ABSENT = ModelEntry(engine="vllm", checkpoint="./no-such-folder", context_length=64)


def found(folder: Path, models: dict[str, ModelEntry], gpus: int = 0) -> dict[str, Finding]:
    return {f.check: f for f in probe("node", Store.open(str(folder / "store")), models, gpus)}


def test_a_node_for_canned_answers_needs_no_engine(tmp_path: Path) -> None:
    findings = found(tmp_path, {"toy": CANNED}, gpus=2)
    assert set(findings) == {"versions", "store", "models and disk"}
    assert all(finding.ok for finding in findings.values())


def test_each_thing_that_is_wrong_is_told_and_the_others_are_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LIBRARY", {"vllm": "no_such_library"})
    (tmp_path / "store").write_text("a file", "utf-8")
    store = Store(str(tmp_path / "store"))
    findings = {f.check: f for f in probe("node", store, {"m": ABSENT}, 0)}
    assert not findings["store"].ok
    assert "no such folder" in findings["models and disk"].says
    assert findings["versions"].ok
    assert "no_such_library cannot be imported" in findings["engine vllm"].says


def test_another_ray_or_mixgrid_on_the_node_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_version", {"ray": "2.40.0", "vllm": "0.32.0"}.get)
    with pytest.raises(UserError, match=r"ray is 2\.40\.0 here, and 2\.60\.0 where this was submitted"):
        module.versions({"vllm"})
    monkeypatch.setattr(module, "_version", {"ray": "2.60.0", "mixgrid": "0.0.9"}.get)
    with pytest.raises(UserError, match=r"mixgrid is 0\.0\.9 here"):
        module.versions(set())
    monkeypatch.setattr(module, "_version", {"ray": "2.60.0"}.get)
    assert "ray 2.60.0" in module.versions(set())
    with pytest.raises(UserError, match="vllm is not installed here"):
        module.versions({"vllm"})


def test_the_pins_are_those_of_pyproject_and_lock(root: Path) -> None:
    text = (root / "pyproject.toml").read_text("utf-8")
    assert tomllib.loads(text)["project"]["requires-python"] == ">=3.11,<3.12"
    for name, version in PINS.items():
        assert re.search(rf'"{name}(\[[\w,]+\])?=={re.escape(version)}"', text)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [("79000, 81000", "77 of 79 GiB free"), ("79000, 81000\n900, 81000", "GPU 1: only 1 of 79 GiB are free")],
)
def test_a_gpu_that_another_process_holds_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, expected: str
) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\nprintf '{lines}\n'\n", "utf-8")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setattr(module, "cpu_build", lambda: False)
    (finding,) = module._tried("node", [("GPU memory", module._gpu_memory)])
    assert expected in finding.says
    assert finding.ok == ("\n" not in lines)


def test_a_disk_without_room_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROOM", 2**60)
    findings = found(tmp_path, {"toy": CANNED})
    assert "give the node a larger disk" in findings["models and disk"].says
