"""Chat messages to token ids, by the checkpoint's own template: one place for engines and for counting in a plan."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from jinja2.exceptions import TemplateError

from mixgrid.engines.base import fold_system
from mixgrid.engines.checkpoints import resolve
from mixgrid.errors import UserError
from mixgrid.manifest import ModelEntry
from mixgrid.parse import begun
from mixgrid.records import Message

TAIL = 8  # tokens at a prompt's end, in which a template may begin a thought


class ChatTokenizer:
    """A checkpoint's tokenizer and chat template, with the model entry's arguments."""

    def __init__(self, tokenizer: Any, entry: ModelEntry) -> None:
        self._tokenizer, self._entry = tokenizer, entry
        if entry.chat_template is None and not tokenizer.chat_template:
            raise UserError(
                f"{entry.checkpoint}: no chat template there; give one as `chat_template: FILE` in models.yaml"
            )

    def token_ids(self, messages: Sequence[Message], thinking: bool | None = None) -> list[int]:
        """The token ids of a chat prompt, with the beginning-of-text token at most once."""
        try:
            ids = self._render(fold_system(messages) if self.folds(messages) else messages, thinking)
        except TemplateError as error:  # of every prompt or none, as prompts of one shape go through it
            raise UserError(f"{self._entry.checkpoint}: its chat template cannot render a prompt: {error}") from error
        bos = self._tokenizer.bos_token_id
        return ids[1:] if bos is not None and ids[:2] == [bos, bos] else ids

    def folds(self, messages: Sequence[Message]) -> bool:
        """Whether these messages' system text has to go into the first user turn."""
        return messages[0].role == "system" and not self._takes_system

    @cached_property
    def special_marks(self) -> bool:
        """Whether special tokens mark the model's thoughts: without them nobody could tell these from the answer."""
        special = {str(token) for token in self._tokenizer.added_tokens_decoder.values() if token.special}
        return any(begun(token) for token in special)

    def begun_thought(self, ids: Sequence[int]) -> str:
        """The mark of a thought that the template has begun for the model: the text that comes back lacks it."""
        return begun(self._tokenizer.decode(ids[-TAIL:], skip_special_tokens=False))

    @cached_property
    def _takes_system(self) -> bool:
        """Whether the chat template takes a system message, found out by trying once."""
        try:
            self._render((Message("system", "a"), Message("user", "b")), None)
        except TemplateError:
            return False
        return self._entry.system_role

    def _render(self, messages: Sequence[Message], thinking: bool | None) -> list[int]:
        ids: list[int] = self._tokenizer.apply_chat_template(
            [{"role": m.role, "content": m.content} for m in messages],
            chat_template=self._entry.chat_template, add_generation_prompt=True, tokenize=True, return_dict=False,
            **self._entry.template_arguments(thinking),
        )  # fmt: skip
        return ids


def load(entry: ModelEntry, name: str) -> ChatTokenizer:
    """The chat tokenizer of a model's checkpoint on this machine; needs transformers, not the weights in memory."""
    folder = resolve(entry.checkpoint, entry.revision, name=name)
    from transformers import AutoTokenizer  # takes seconds, and a checkpoint that is not there has no use for it

    return ChatTokenizer(AutoTokenizer.from_pretrained(str(folder)), entry)
