"""The methods on 200 real sentences, the dependency method with a parser trained here on a real treebank."""

from collections import Counter
from pathlib import Path

import pytest

from mixgrid.corpora import load_corpora, read
from mixgrid.languages import tags
from mixgrid.plan.grid import Slice
from mixgrid.switching import METHODS, build
from mixgrid.switching.base import Chosen, Reason, selections
from mixgrid.switching.weave import Said, unweave, weave
from tests.switching.parsers import accuracy, trained

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def sentences(root: Path, shared: Path) -> list[str]:
    items = tuple(read(load_corpora(root / "manifests" / "corpora.yaml")["selerosa"]))
    return [item.text or "" for item in Slice("selerosa", "", "test", items, items).limited(200).items]


@pytest.fixture(scope="module")
def parser(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return trained(shared / "data" / "ud_romanian_rrt" / "ro_rrt-ud-dev.conllu", tmp_path_factory.mktemp("rrt"))


def chosen(name: str, sentences: list[str], parser: str) -> list[list[Chosen | Reason]]:
    method = build(name, "ro", {"parser": parser} if name == "dependency" else {}, "m")
    groups = method.groups(sentences)
    return [selections(method, text, found, (1, 2, 3)) for text, found in zip(sentences, groups, strict=True)]


def test_the_parser_has_learnt_to_parse(parser: str, shared: Path) -> None:
    """A flat or a chained tree has about a quarter of the heads right."""
    assert accuracy(parser, shared / "data" / "ud_romanian_rrt" / "ro_rrt-ud-test.conllu") > 0.45


def test_dependency_switches_subtrees_of_real_sentences(sentences: list[str], parser: str) -> None:
    found = chosen("dependency", sentences, parser)
    units = Counter(choice[0].unit for three in found for choice in three if not isinstance(choice, str))
    assert units["subtree"] > 8 * units["word"]
    assert sum(not isinstance(three[0], str) for three in found) > 195
    widths = [c[0].end - c[0].start for three in found for c in three if not isinstance(c, str)]
    assert max(widths) > 60


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"llm"}))
def test_real_sentences_come_back_whole(name: str, sentences: list[str], parser: str) -> None:
    woven = 0
    for text, three in zip(sentences, chosen(name, sentences, parser), strict=True):
        for choice in three:
            if not isinstance(choice, str):
                said = [Said(" ".join(tags(text[p.start : p.end]) or ("the", "fence"))) for p in choice]
                mixed = weave(text, choice, said, "en")
                assert unweave(mixed.text, mixed.spans) == text
                assert tags(mixed.text) == tags(text)
                woven += bool(mixed.spans)
    assert woven > 400
