"""How raw answers are read: pure functions, one for each answer form, that never raise and never credit a guess.

What a model thought is set apart first and never searched. Then the last complete answer counts, and it has to match an
alias exactly (after folding); anything else becomes a status that says what was wrong.

    form         reader                what it is given
    XML-like     tagged                <raspuns>satiră</raspuns>
    JSON         json_flags            {"humorous": 1, "sarcastic": 0, ...}
                 json_field + label    {"topic": "Daily Life"}
                 json_field + letter   {"answer": "C"}
                 json_field + prose    {"summary": "A and B plan a trip. ..."}
    text         rewritten             <translation>The mayor of <GPE> …</translation>

>>> tagged(Raw("<think>satiră?</think><Răspuns>Factuală.</Răspuns>"), TAGS, aliases({"factual": ["factuală"]})).value
'factual'
"""

from mixgrid.parse.base import (
    TAGS,
    VERSION,
    Raw,
    Tags,
    Visible,
    begun,
    excerpt,
    outside,
    refuses,
    thoughts,
    visible,
)
from mixgrid.parse.labels import aliases, label, spelled
from mixgrid.parse.letters import letter, prose
from mixgrid.parse.objects import json_field, json_flags, json_object, objects
from mixgrid.parse.rewritten import rewritten
from mixgrid.parse.tags import last_tag, tag_pairs, tagged

__all__ = [
    "TAGS", "VERSION", "Raw", "Tags", "Visible", "aliases", "begun", "excerpt", "json_field", "json_flags",
    "json_object", "label", "last_tag", "letter", "objects", "outside", "prose", "refuses", "rewritten", "spelled",
    "tag_pairs", "tagged", "thoughts", "visible",
]  # fmt: skip
