"""Rows on Ray are the rows made here."""

from pathlib import Path

import pytest

from mixgrid.corpora import load_corpora, read
from mixgrid.store import Store
from mixgrid.survey import Options, shards, survey
from mixgrid.survey.samples import samples_of


@pytest.mark.ray
def test_ray_gives_the_same_survey(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    monkeypatch.setattr(shards, "SHARD", 100)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    samples = samples_of(read(load_corpora(root / "manifests" / "corpora.yaml")["satire-sample"]))
    here = survey(Store.open(str(tmp_path / "here")), samples, Options())
    other = Store.open(str(tmp_path / "there"))
    try:
        there = survey(other, samples, Options(on_ray=True))
    finally:
        ray.shutdown()
    assert there == here
    assert sorted(part.rows for part in other.parts(there.folder).whole if part.stem[:5] == "rows-") == [64, 100, 100]
