"""The classification family: every golden value, sklearn on random data, and slices where a number does not exist."""

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from mixgrid.metrics.base import Answer, Array, Metric, Policies
from mixgrid.metrics.classification import Classification, macro_f1, precision, recall, table_of

GOLDEN = Path(__file__).parents[1] / "golden"
CLASSES = ("factual", "satire")
CASES: list[dict[str, Any]] = json.loads((GOLDEN / "classification_unparseable.json").read_text())["cases"]
VOTES: dict[str, Any] = json.loads((GOLDEN / "majority_vote.json").read_text())
codes = st.lists(st.tuples(st.integers(0, 1), st.integers(-2, 1)), min_size=1, max_size=60)


def stats(gold: list[int], answers: list[int], classes: tuple[str, ...] = CLASSES) -> Array:
    """Statistics (n, F) of class numbers; -1 is unparsed, -2 failed."""
    read = [
        Answer("ok", classes[a]) if a >= 0 else Answer("unparsed") if a == -1 else Answer("failed") for a in answers
    ]
    return Classification(classes).statistics([classes[g] for g in gold], read)


def total(gold: list[int], answers: list[int]) -> Array:
    return cast(Array, stats(gold, answers).sum(axis=0))


def metric(name: str, policies: Policies | None = None) -> Metric:
    (found,) = (m for m in Classification(CLASSES, policies).metrics if m.name == name)
    return found


def approx(value: Any) -> Any:
    return pytest.approx(value, abs=1e-12, nan_ok=False)


@pytest.fixture(params=CASES, ids=lambda case: str(case["name"]))
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    return cast(dict[str, Any], request.param)


def test_golden_counts(case: dict[str, Any]) -> None:
    table = table_of(total(case["gold"], case["pred"]))
    with_unparsed = np.array(case["confusion_labels_m1_0_1"])[1:]  # sklearn's order: unparsed, 0, 1
    assert table[:, [2, 0, 1]].tolist() == with_unparsed.tolist()
    assert table[:, :2].tolist() == case["confusion_labels_0_1_truncated_by_sklearn"]
    assert table[:, 3].sum() == 0


def test_golden_accuracy_and_macro_f1_under_each_policy(case: dict[str, Any]) -> None:
    both = total(case["gold"], case["pred"])
    for policy, suffix in (("labels", "labels01"), ("wrong", "flip_to_wrong"), ("drop", "dropped")):
        policies = Policies(unparsed=policy)  # type: ignore[arg-type]
        wanted = case.get(f"f1_macro_{suffix}")
        if wanted is None:  # everything was dropped
            assert np.isnan(macro_f1(both, policies))
        else:
            assert float(macro_f1(both, policies)) == approx(wanted)
    for policy, key in (("labels", "accuracy"), ("wrong", "accuracy_flip"), ("drop", "accuracy_dropped")):
        value, _ = metric("accuracy", Policies(unparsed=policy)).value(both)  # type: ignore[arg-type]
        assert value == approx(case.get(key)) if key in case else value is None


def test_golden_per_class(case: dict[str, Any]) -> None:
    both, policies, wanted = total(case["gold"], case["pred"]), Policies(), case["per_class"]
    assert precision(both, policies).tolist() == approx(wanted["precision"])
    assert recall(both, policies).tolist() == approx(wanted["recall"])
    assert table_of(both).sum(axis=-1).tolist() == wanted["support"]
    for i, name in enumerate(CLASSES):
        value, note = metric(f"f1_{name}").value(both)
        if wanted["support"][i] == 0:
            assert (value, note) == (None, f"n/a (no item is {name})")
        else:
            assert value == approx(wanted["f1"][i])


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("fpr", "fpr_unparseable_is_error"),
        ("fnr", "fnr_unparseable_is_error"),
        ("fpr_wrong", "fpr_strict_pred1_only"),
        ("fnr_wrong", "fnr_strict_pred0_only"),
    ],
)
def test_golden_error_rates(case: dict[str, Any], name: str, key: str) -> None:
    assert metric(name).value(total(case["gold"], case["pred"]))[0] == (
        None if case[key] is None else approx(case[key])
    )


def test_golden_macro_f1_may_pass_accuracy_only_with_unparsed(case: dict[str, Any]) -> None:
    both = total(case["gold"], case["pred"])
    below = float(macro_f1(both, Policies())) <= float(metric("accuracy").total(both)) + 1e-12
    assert below == case["macro_f1_le_accuracy"]


@pytest.mark.parametrize(("rule", "key"), [("strict", "strict_majority_of_3"), ("parseable", "majority_of_parseable")])
def test_golden_vote_table(rule: str, key: str) -> None:
    family = Classification(CLASSES)
    for row in VOTES["table"]:
        voted = table_of(family.votes[rule](np.stack([stats([0], [v]) for v in row["votes"]])))[0, 0]
        assert {0: 0, 1: 1, 2: -1}[int(voted.argmax())] == row[key]


@pytest.mark.parametrize(("rule", "key"), [("strict", "strict_majority_of_3"), ("parseable", "majority_of_parseable")])
def test_golden_rates_of_the_vote_are_not_the_mean_of_the_runs(rule: str, key: str) -> None:
    runs = np.stack([stats(VOTES["gold"], run) for run in VOTES["runs"]])
    voted = Classification(CLASSES).votes[rule](runs)
    answers = table_of(voted).sum(axis=1).argmax(axis=-1)
    assert [{0: 0, 1: 1, 2: -1}[int(a)] for a in answers] == VOTES["results"][key]["vote"]
    for name in ("fpr", "fnr"):
        assert metric(name).value(voted.sum(axis=0))[0] == approx(VOTES["results"][key][name])
        per_run = metric(name).total(runs.sum(axis=1))
        assert per_run.tolist() == approx([run[name] for run in VOTES["per_run"]])
        assert per_run.mean() == approx(VOTES["results"]["mean_of_runs"][name])


@given(codes)
def test_macro_f1_and_accuracy_equal_sklearn(rows: list[tuple[int, int]]) -> None:
    gold, answers = [g for g, _ in rows], [a for _, a in rows]
    both = total(gold, answers)
    expected = f1_score(gold, answers, labels=[0, 1], average="macro", zero_division=0)
    assert float(macro_f1(both, Policies())) == approx(expected)
    assert float(metric("accuracy").total(both)) == approx(accuracy_score(gold, answers))


@given(codes, st.sampled_from(["labels", "wrong", "drop"]), st.sampled_from(["labels", "wrong", "drop"]))
def test_every_metric_is_a_share_or_says_why_not(rows: list[tuple[int, int]], unparsed: Any, failed: Any) -> None:
    both = total([g for g, _ in rows], [a for _, a in rows])
    for found in Classification(CLASSES, Policies(unparsed, failed)).metrics:
        value, note = found.value(both)
        assert bool(note) if value is None else 0 <= value <= 1


@given(codes)
def test_totals_over_many_slices_equal_one_slice_at_a_time(rows: list[tuple[int, int]]) -> None:
    each = stats([g for g, _ in rows], [a for _, a in rows])
    slices = np.stack([each[: i + 1].sum(axis=0) for i in range(len(each))])
    for found in Classification(CLASSES).metrics:
        np.testing.assert_array_equal(found.total(slices), [found.total(one) for one in slices])


def test_error_rate_parts_add_up() -> None:
    both = total([0] * 5, [0, 1, -1, -2, -2])
    assert [float(metric(f"fpr{kind}").total(both)) for kind in ("_wrong", "_unparsed", "_failed", "")] == approx(
        [0.2, 0.2, 0.4, 0.8]
    )
    assert float(metric("unparsed").total(both)) == approx(0.2)
    assert float(metric("failed").total(both)) == approx(0.4)


def test_failed_rows_have_a_policy_of_their_own() -> None:
    both = total([0, 0, 1, 1], [0, -2, 1, -1])
    assert metric("accuracy", Policies(failed="drop")).value(both)[0] == approx(2 / 3)
    assert metric("accuracy", Policies(unparsed="drop", failed="drop")).value(both)[0] == 1.0
    assert "unparsed:labels|failed:drop" in metric("accuracy", Policies(failed="drop")).signature


def test_a_slice_with_one_class_or_no_rows_is_named() -> None:
    assert metric("macro_f1").value(total([1, 1], [1, 1])) == (None, "n/a (1 class of 2)")
    assert metric("macro_f1").value(np.zeros(8)) == (None, "no rows")
    assert metric("accuracy").value(np.zeros(8))[0] is None


def test_baselines_of_a_seven_to_three_slice() -> None:
    family = Classification(CLASSES)
    both = total([0] * 7 + [1] * 3, [-1] * 10)
    found = {
        name: (metric("accuracy").value(moved)[0], metric("macro_f1").value(moved)[0])
        for name, moved in ((name, of(both)) for name, of in family.baselines.items())
    }
    assert found["all factual"] == found["majority"] == approx((0.7, 0.5 * 14 / 17))
    assert found["all satire"] == approx((0.3, 0.5 * 6 / 13))
    assert found["random"] == approx((0.5, 0.5 * (7 / 12 + 3 / 8)))


def test_wrong_spreads_over_the_other_classes() -> None:
    family = Classification(("a", "b", "c"), Policies(unparsed="wrong"))
    both = stats([0, 0, 1, 2], [-1, 0, 1, 2], ("a", "b", "c")).sum(axis=0)
    values = {m.name: m.value(both)[0] for m in family.metrics}
    assert values["precision_b"] == values["precision_c"] == approx(1 / 1.5)
    assert "fpr" not in values


def test_gold_outside_the_classes_is_refused_by_name() -> None:
    from mixgrid.records import Item

    item = Item("c", "i7", "s", None, "a", "test", "ro", "none", 0, text="x")
    with pytest.raises(ValueError, match=r"'i7'.*'joke' is not in"):
        Classification(CLASSES).facts(item, "joke")


@pytest.mark.parametrize("classes", [(), ("one",)])
def test_fewer_than_two_classes_are_refused(classes: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="two classes"):
        Classification(classes)
