"""Reader `selerosa`: satire in Romanian news, sentence by sentence (SeLeRoSa, CC BY-NC-SA 4.0).

    index,news_id,sentence,domain,label_0,label_1,label_2,label,split
    17,2,Primarul a promis un pod peste Dunăre.,life-death,1,1,0,1,train

Both the csv of its repository and the hub's copy (where the split is the file's, not a column) have these columns.
Texts repeat, also across splits and labels, so `index` is the identity; sentences of one `news_id` are one cluster.
The text stays as it is: legacy ş/ţ, zero-width spaces, newlines and braces are part of what the authors labelled.
"""

from dataclasses import replace

from mixgrid.corpora import table
from mixgrid.corpora.catalogue import Columns, Corpus
from mixgrid.errors import UserError
from mixgrid.records import Item

LABELS = {"0": "factual", "1": "satire", "factual": "factual", "satire": "satire"}


def read(corpus: Corpus) -> list[Item]:
    """SeLeRoSa's sentences; the split is a column unless the entry says it for each file."""
    entry = corpus.entry
    if entry.columns != Columns():
        raise UserError(f"{corpus.where}: key 'columns': the reader 'selerosa' knows its columns; leave this key out")
    split = None if any("split" in file.constants for file in corpus.sources) else "split"
    columns = Columns(
        item_id="index", source_id="index", cluster_id="news_id", text="sentence", label="label", domain="domain",
        split=split,
    )  # fmt: skip
    filled = entry.model_copy(
        update={
            "columns": columns,
            "constants": {"language": "ro", "switching": "none", **entry.constants},
            "values": {"label": LABELS, **entry.values},
        }
    )
    return table.read(replace(corpus, entry=filled))
