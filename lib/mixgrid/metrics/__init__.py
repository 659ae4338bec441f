"""Score families: what a task's `score` names.

>>> from mixgrid.metrics import FAMILIES
>>> from mixgrid.metrics.base import Policies
>>> FAMILIES["classification"](("factual", "satire"), Policies()).headline
('macro_f1', 'accuracy', 'fpr', 'fnr')
"""

from collections.abc import Callable, Mapping, Sequence

from mixgrid.metrics.base import Family, Policies
from mixgrid.metrics.choice import Choice
from mixgrid.metrics.classification import Classification
from mixgrid.metrics.dialogue import Dialogue
from mixgrid.metrics.multilabel import MultiLabel
from mixgrid.metrics.summary import Summary
from mixgrid.metrics.translation import Translation

FAMILIES: Mapping[str, Callable[[Sequence[str], Policies], Family]] = {
    "choice": Choice,
    "classification": Classification,
    "dialogue": Dialogue,
    "multilabel": MultiLabel,
    "summary": Summary,
    "translation": Translation,
}
