"""The catalogue: unknown keys are refused, and the shipped one says what each corpus needs."""

from pathlib import Path

import pytest

from mixgrid.corpora import READERS, corpus, load_corpora, read
from mixgrid.errors import UserError
from mixgrid.tasks import TASKS
from tests.corpora.conftest import Declare


def test_the_shipped_catalogue_names_readers_licences_and_tasks(root: Path) -> None:
    catalogue = load_corpora(root / "manifests" / "corpora.yaml")
    assert {"satire-sample", "selerosa", "cs-selerosa", "cs-selerosa-gold"} <= set(catalogue)
    for entry in (c.entry for c in catalogue.values()):
        assert entry.reader in READERS
        assert entry.licence
        assert set(entry.tasks) <= set(TASKS)  # none: for description only


@pytest.mark.parametrize("name", ["cs-selerosa", "cs-selerosa-gold"])
def test_a_release_that_is_not_public_says_what_to_do(root: Path, name: str) -> None:
    with pytest.raises(
        UserError, match=rf"corpus '{name}': .*is not there. CS-SeLeRoSa is not public yet: .*`columns`"
    ):
        read(load_corpora(root / "manifests" / "corpora.yaml")[name])


def test_readers_stand_in_order() -> None:
    assert list(READERS) == sorted(READERS)


def test_an_unknown_corpus_is_refused_with_the_nearest(root: Path) -> None:
    catalogue = load_corpora(root / "manifests" / "corpora.yaml")
    with pytest.raises(
        UserError, match=r"smoke.yaml: key 'corpora': there is no corpus 'selerossa'; did you mean 'selerosa'"
    ):
        corpus(catalogue, "selerossa", "smoke.yaml: key 'corpora'")


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"licens": "x"}, r"unknown key 'corpora.c.licens'; did you mean 'licence'"),
        ({"columns": {"texts": "t"}}, r"unknown key 'corpora.c.columns.texts'; did you mean 'text'"),
        ({"constants": {"langage": "ro"}}, "'corpora.c.constants.langage"),
        ({"values": {"label": {0: "factual"}}}, "'corpora.c.values.label.0"),
        ({"files": [{"path": "d.csv"}]}, "give either `path`"),
        ({"format": "xlsx"}, "'corpora.c.format': 'xlsx' is not right"),
        ({"counts": [{"split": "test", "languages": ["ro"], "switching": ["none"], "items": 0}]}, "counts.0.items"),
    ],
)
def test_a_wrong_key_or_value_is_one_sentence(declare: Declare, keys: dict[str, object], why: str) -> None:
    with pytest.raises(UserError, match=why):
        declare("c.csv", **keys)
