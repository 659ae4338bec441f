"""Tokens of a text by a named tokenizer: `words`, or that of any checkpoint (a folder or a hub name)."""

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from mixgrid import hub
from mixgrid.errors import UserError
from mixgrid.languages import TOKENIZER, words
from mixgrid.schemas import digest

WORDS = "words"


@dataclass(frozen=True)
class TokenCounter:
    """A tokenizer by name, loaded on first use; special tokens are not counted."""

    name: str = WORDS

    @property
    def signature(self) -> str:
        """The name, without a path, and the digest of the vocabulary."""
        if self.name == WORDS:
            return TOKENIZER
        vocabulary = _load(self.name).get_vocab()
        return f"{Path(self.name).name}@{digest(sorted(vocabulary.items()))[:12]}"

    def __call__(self, text: str) -> int:
        """Tokens of a text."""
        if self.name == WORDS:
            return len(words(text))
        return len(_load(self.name).encode(text, add_special_tokens=False))


@lru_cache(maxsize=1)
def _load(name: str) -> Any:
    try:
        tokenizers = import_module("transformers").AutoTokenizer
        here = Path(name).is_dir() or not hub.reachable()
        loaded = tokenizers.from_pretrained(name, local_files_only=here)
    except ImportError as error:
        raise UserError(f"--tokenizer {name!r} needs transformers; run scripts/setup, or use 'words'") from error
    except (OSError, ValueError) as error:
        why = (
            str(error).split("\n", 1)[0]
            if Path(name).is_dir() or hub.reachable()
            else ("it is no folder, it is not in the local cache, and the hub cannot be reached")
        )
        raise UserError(f"--tokenizer {name!r} cannot be read: {why}; give 'words', a folder or a hub name") from error
    loaded.model_max_length = 1 << 30  # a dialogue is counted whole; nothing is fed to a model
    return loaded
