"""Errors that mixgrid raises on purpose, and the exit code that each becomes (design.md, Outcomes).

MixgridError          1  something unforeseen that we can still name
├── UserError         2  bad usage, manifest or input: nothing was started
├── Incomplete        3  rows are pending
├── BudgetStop        4  a cap stopped it before it was done
└── Regression        5  compare, gate, nightly: a significant regression
"""

import difflib
from collections.abc import Iterable


class MixgridError(Exception):
    """A failure with a name; its message is one sentence for the person at the terminal."""

    exit_code = 1


class UserError(MixgridError):
    """Bad usage, manifest or input: says what, where, and what would be right."""

    exit_code = 2


class Incomplete(MixgridError):
    """Rows are still pending; the same command goes on."""

    exit_code = 3


class BudgetStop(MixgridError):
    """A cap stopped the sweep; what was answered is kept, and more money goes on where it ended."""

    exit_code = 4


class Regression(MixgridError):
    """A declared comparison got significantly worse."""

    exit_code = 5


def allowed(value: str, names: Iterable[str]) -> str:
    """The end of an error sentence: the nearest allowed names, or all of them.

    >>> allowed("satir", ["satire", "dialogue-qa"])
    "did you mean 'satire'? Allowed: dialogue-qa, satire"
    """
    known = sorted(names)
    near = difflib.get_close_matches(value, known, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"{guess}Allowed: {', '.join(known) or 'none'}"
