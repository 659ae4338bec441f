"""Chat messages become token ids by the checkpoint's own template, with a real tokenizer that is built here."""

from pathlib import Path
from typing import Any

import pytest

from mixgrid.engines.chat import ChatTokenizer, load
from mixgrid.errors import UserError
from mixgrid.manifest import ModelEntry
from mixgrid.records import Message

pytestmark = pytest.mark.slow  # transformers takes seconds to import

PLAIN = (
    "{% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}{% if add_generation_prompt %}assistant{% endif %}"
)
STRICT = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + PLAIN
THINKING = PLAIN + "{% if enable_thinking is defined %} {{ 'on' if enable_thinking else 'off' }}{% endif %}"
USER = (Message("user", "unu doi"),)
SYSTEM = (Message("system", "scurt"), *USER)


def made(template: str | None, bos: bool = False) -> Any:
    """A word-level tokenizer with a beginning-of-text token; with `bos`, it adds one by itself."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = ["<s>", "<unk>", "user", "assistant", "system", "unu", "doi", "trei", "scurt", "on", "off"]
    core = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if bos:
        core.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", unk_token="<unk>")
    tokenizer.chat_template = template
    return tokenizer


def entry(**fields: Any) -> ModelEntry:
    return ModelEntry(engine="vllm", checkpoint="org/m", context_length=64, **fields)


def words(chat: ChatTokenizer, tokenizer: Any, *asked: Any) -> str:
    return " ".join(tokenizer.convert_ids_to_tokens(chat.token_ids(*asked)))


def test_messages_go_through_the_template_and_ask_for_an_answer() -> None:
    tokenizer = made(PLAIN)
    assert words(ChatTokenizer(tokenizer, entry()), tokenizer, SYSTEM) == "system scurt user unu doi assistant"


@pytest.mark.parametrize("template", [PLAIN, "{{ bos_token }} " + PLAIN], ids=["without", "with"])
@pytest.mark.parametrize("adds", [False, True])
def test_the_beginning_of_text_never_stands_there_twice(template: str, adds: bool) -> None:
    tokenizer = made(template, bos=adds)
    ids = ChatTokenizer(tokenizer, entry()).token_ids(USER)
    assert ids.count(tokenizer.bos_token_id) <= 1
    assert ids.count(tokenizer.bos_token_id) == int("bos_token" in template)
    assert tokenizer.convert_ids_to_tokens(ids)[-4:] == ["user", "unu", "doi", "assistant"]


def test_a_doubled_beginning_of_text_in_the_template_itself_is_cut() -> None:
    tokenizer = made("{{ bos_token }} {{ bos_token }} " + PLAIN)
    assert words(ChatTokenizer(tokenizer, entry()), tokenizer, USER) == "<s> user unu doi assistant"


def test_a_template_without_a_system_role_gets_the_text_in_the_first_user_turn() -> None:
    tokenizer = made(STRICT)
    chat = ChatTokenizer(tokenizer, entry())
    assert (chat.folds(SYSTEM), chat.folds(USER)) == (True, False)
    assert words(chat, tokenizer, SYSTEM) == "user scurt unu doi assistant"


def test_a_model_said_to_have_no_system_role_is_folded_though_its_template_takes_one() -> None:
    tokenizer = made(PLAIN)
    chat = ChatTokenizer(tokenizer, entry(system_role=False))
    assert chat.folds(SYSTEM)
    assert words(chat, tokenizer, SYSTEM) == "user scurt unu doi assistant"
    assert not ChatTokenizer(tokenizer, entry()).folds(SYSTEM)


@pytest.mark.parametrize(("thinking", "last"), [(True, "on"), (False, "off"), (None, "assistant")])
def test_the_thinking_switch_reaches_the_template(thinking: bool | None, last: str) -> None:
    tokenizer = made(THINKING)
    chat = ChatTokenizer(tokenizer, entry(thinking_switch="enable_thinking"))
    assert words(chat, tokenizer, USER, thinking).split()[-1] == last


def test_without_a_declared_switch_thinking_leaves_the_template_alone() -> None:
    tokenizer = made(THINKING)
    assert words(ChatTokenizer(tokenizer, entry()), tokenizer, USER, True).split()[-1] == "assistant"


@pytest.mark.parametrize("special", [False, True])
def test_thoughts_marked_by_special_tokens_are_known(special: bool) -> None:
    """Gemma 4's; Qwen3's are ordinary tokens, which no decoder leaves out."""
    from transformers import AddedToken

    tokenizer = made(PLAIN)
    tokenizer.add_tokens([AddedToken("<|channel>", special=special), AddedToken("<channel|>", special=special)])
    assert ChatTokenizer(tokenizer, entry()).special_marks is special


@pytest.mark.parametrize(("ends", "mark"), [(" <think>", "<think>"), (" <think> </think>", ""), ("", "")])
def test_a_thought_that_the_template_begins_is_known(ends: str, mark: str) -> None:
    tokenizer = made(PLAIN + ends)
    tokenizer.add_tokens(["<think>", "</think>"])
    chat = ChatTokenizer(tokenizer, entry())
    assert chat.begun_thought(chat.token_ids(USER)) == mark


def test_the_entry_s_template_arguments_hold_unless_the_setting_switches() -> None:
    tokenizer = made(THINKING)
    fixed = entry(chat_template_args={"enable_thinking": False}, thinking_switch="enable_thinking")
    chat = ChatTokenizer(tokenizer, fixed)
    assert words(chat, tokenizer, USER).split()[-1] == "off"
    assert words(chat, tokenizer, USER, True).split()[-1] == "on"


def test_a_checkpoint_without_a_template_is_refused_with_the_way_out() -> None:
    with pytest.raises(UserError, match=r"org/m: no chat template there; give one as `chat_template: FILE`"):
        ChatTokenizer(made(None), entry())


def test_the_entry_s_own_template_replaces_the_checkpoint_s() -> None:
    tokenizer = made(PLAIN)
    own = entry(chat_template="trei {{ messages[0].content }}")
    assert words(ChatTokenizer(tokenizer, own), tokenizer, USER) == "trei unu doi"


@pytest.mark.parametrize("template", ["{% if %}", "{{ raise_exception('no chat') }}", "{{ messages.0.x.y }}"])
def test_a_chat_template_that_cannot_render_is_the_user_s_to_mend(template: str) -> None:
    with pytest.raises(UserError, match=r"org/m: its chat template cannot render a prompt: "):
        ChatTokenizer(made(PLAIN), entry(chat_template=template)).token_ids(SYSTEM)


def test_template_syntax_in_a_message_is_plain_text() -> None:
    tokenizer = made(PLAIN)
    asked = (Message("user", "{{ unu }} {% if doi %}"),)
    assert words(ChatTokenizer(tokenizer, entry()), tokenizer, asked).count("<unk>") == 5


def test_a_folder_with_a_tokenizer_is_loaded_without_its_weights(tmp_path: Path) -> None:
    made(PLAIN).save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    local = ModelEntry(engine="vllm", checkpoint=str(tmp_path), context_length=64)
    assert len(load(local, "m").token_ids(USER)) == 4
