"""Score families: what a task's `score` names.

>>> from mixgrid.metrics import FAMILIES
>>> FAMILIES["classification"](("factual", "satire")).headline
('macro_f1', 'accuracy', 'fpr', 'fnr')
"""

from collections.abc import Callable, Mapping, Sequence

from mixgrid.metrics.base import Family
from mixgrid.metrics.classification import Classification

FAMILIES: Mapping[str, Callable[[Sequence[str]], Family]] = {
    "classification": Classification,
}
