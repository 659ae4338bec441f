"""The real engine with the embedded model: rows that cannot be asked, seeds, overlap, forms, cache."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mixgrid.engines.base import Ask, EngineDied, EngineSpec
from mixgrid.engines.chat import ChatTokenizer, load
from mixgrid.engines.checkpoints import resolve
from mixgrid.engines.vllm import VllmEngine, _params
from mixgrid.manifest import ModelEntry, load_models
from mixgrid.parse import TAGS, Raw, tagged
from mixgrid.records import Answer, Message, Sampling

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]

MODEL = "smollm2-135m-instruct"
MANIFESTS = Path(__file__).resolve().parent.parent.parent / "manifests"
QUESTION = (
    "Name the capital of France, then of Spain, then of Italy, then of Greece, and say a word about each of them."
)


@pytest.fixture(scope="module")
def entry() -> ModelEntry:
    found = load_models(MANIFESTS / "models.yaml")[MODEL].model_copy(update={"context_length": 256})
    resolve(found.checkpoint, found.revision, fetch=True)
    return found


@pytest.fixture(scope="module")
def engine(entry: ModelEntry) -> Iterator[VllmEngine]:
    loaded = VllmEngine(EngineSpec(MODEL, entry))
    yield loaded
    loaded.close()


def ask(text: str, seed: int | None = None, **sampling: object) -> Ask:
    fields = {"temperature": 0.0, "max_tokens": 8, **sampling}
    return Ask(f"{text[:20]}-{seed}", (Message("user", text),), Sampling(**fields), seed)  # type: ignore[arg-type]


def texts(answers: list[Answer]) -> list[str]:
    return [answer.text for answer in answers]


def test_one_bad_row_never_fails_a_batch(engine: VllmEngine) -> None:
    asks = [ask("Say yes."), ask("word " * 400), ask("a lone surrogate \ud800"), ask("Say no.")]
    answers = engine.answer(asks)
    assert [(a.status, a.reason) for a in answers] == [
        ("ok", ""),
        ("failed", "too_long"),
        ("failed", "bad_text"),
        ("ok", ""),
    ]
    assert answers[1].prompt_tokens > 256
    assert answers[0].finish_reason in {"stop", "length"}
    assert answers[0].completion_tokens > 0


def test_three_seeds_differ_and_one_seed_twice_does_not(engine: VllmEngine) -> None:
    warm = {"temperature": 0.9, "max_tokens": 12}
    first = texts(engine.answer([ask(QUESTION, seed, **warm) for seed in (1, 2, 3)]))
    again = texts(engine.answer([ask(QUESTION, seed, **warm) for seed in (3, 1, 2)]))
    assert len(set(first)) == 3
    assert again == [first[2], first[0], first[1]]


def test_batches_from_several_threads_are_answered_together_and_in_their_own_order(engine: VllmEngine) -> None:
    batches = [[ask(f"Repeat the number {n * 10 + k}.", max_tokens=6) for k in range(6)] for n in range(4)]
    alone = [texts(engine.answer(batch)) for batch in batches]
    found: dict[int, list[str]] = {}
    threads = [
        threading.Thread(target=lambda n=n, b=b: found.update({n: texts(engine.answer(b))}))
        for n, b in enumerate(batches)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[n] for n in range(4)] == alone


def test_an_answer_is_held_to_a_form(engine: VllmEngine) -> None:
    asks = [
        ask(QUESTION, seed, temperature=1.0, regex="<raspuns>(satiră|factual)</raspuns>", max_tokens=24)
        for seed in range(6)
    ]
    assert set(texts(engine.answer(asks))) <= {"<raspuns>satiră</raspuns>", "<raspuns>factual</raspuns>"}


def test_a_thought_that_the_template_begins_belongs_to_the_answer(
    engine: VllmEngine, entry: ModelEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a cut one is seen as what it is, though its first mark was not the model's to write."""
    template = "{{ messages[0].content }}\nassistant\n<think>\n"
    own = ChatTokenizer(load(entry, MODEL)._tokenizer, entry.model_copy(update={"chat_template": template}))
    monkeypatch.setattr(engine, "chat", own)
    (answer,) = engine.answer([ask("Is it satire?")])
    assert answer.text.startswith("<think>\n")
    assert tagged(Raw(answer.text, finish_reason="length"), TAGS, {}).status == "truncated_reasoning"


@pytest.mark.parametrize(("keep", "text"), [(False, ""), (True, "<|im_start|>" * 3)])
def test_special_tokens_stay_in_the_text_only_where_they_mark_thoughts(
    engine: VllmEngine, monkeypatch: pytest.MonkeyPatch, keep: bool, text: str
) -> None:
    """A special token is all that the model may say here; this one marks no thought, and is made to."""
    token = engine.chat._tokenizer.convert_tokens_to_ids("<|im_start|>")

    def only(ask: Ask, *, keep_special: bool) -> Any:
        params = _params(ask, keep_special=keep_special)
        params.allowed_token_ids = [token]
        return params

    monkeypatch.setattr("mixgrid.engines.vllm._params", only)
    assert not engine.chat.special_marks
    monkeypatch.setattr(engine.chat, "special_marks", keep)
    (answer,) = engine.answer([ask("Hi.", max_tokens=3)])
    assert (answer.text, answer.completion_tokens) == (text, 3)


def test_a_prompt_that_was_there_before_comes_from_the_cache(engine: VllmEngine) -> None:
    text = "Once more: " + QUESTION * 3
    engine.answer([ask(text)])
    (again,) = engine.answer([ask(text, max_tokens=7)])
    assert again.cached_tokens >= 64  # whole blocks of 32 tokens
    assert again.cached_tokens % 32 == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # its stack trace is for the log
def test_when_the_engine_dies_nobody_waits_for_ever(entry: ModelEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last test here: one process holds one engine, so this one's step is broken after the others are done."""
    dying = VllmEngine(EngineSpec(MODEL, entry))

    def step() -> None:
        raise RuntimeError("no memory left")

    monkeypatch.setattr(dying._engine, "step", step)
    for _ in range(2):
        with pytest.raises(EngineDied, match="no memory left"):
            dying.answer([ask("Hello."), ask("Hello again.")])
