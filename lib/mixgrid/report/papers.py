"""The tables of the three papers, as descriptions: CS-SeLeRoSa (S), MixSarc (M), PINGPONG (P)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mixgrid.records import Score, Test
from mixgrid.report.layout import Column, Layout, fill
from mixgrid.report.table import Table

Fields = Mapping[str, str]

MONO, CS, GOLD = "selerosa", "cs-selerosa", "cs-selerosa-gold"
S_SETTINGS = {"zero-shot": "ZS", "chain-of-thought": "CoT", "fine-tuning": "FT"}
METHODS = {"random": "Random", "phrase": "Phrase", "dependency": "Dependency", "llm": "LLM"}
MIXED = {"ro-en": "EN", "ro-de": "DE", "ro-fr": "FR", "ro-it": "IT"}
COMBINATIONS = {
    "id-en": "ID-EN", "jv-id-en": "JV-ID-EN", "su-id-en": "SU-ID-EN", "ha-en": "HA-EN", "ar-dz-fr": "AR-DZ-FR",
}  # fmt: skip
F1 = ("macro_f1",)
_MODEL, _TWIN = "model", "twin"  # kinds of tests
RATES = {"FPR": "fpr", "FNR": "fnr"}
ORIGINAL = {"corpus": f"{MONO}|{CS}", "language": "all", "switching": "none"}
TONES = {"humorous": "Humor", "sarcastic": "Sarcasm", "offensive": "Offensive", "vulgar": "Vulgar"}
CATEGORIES = {
    "Neg.": "negation", "Ant.": "antonym", "Ent.": "entity-swap", "Mut.": "mutual-exclusion",
    "Imp.": "impossible-condition",
}  # fmt: skip
SUMMARY = {
    "ROUGE1": "rouge1", "ROUGE2": "rouge2", "ROUGE3": "rouge3", "ROUGE4": "rouge4", "METEOR": "meteor",
    "CHRF++": "chrf++_sentence", "BERTScore-p": "bertscore_p", "BERTScore-r": "bertscore_r",
    "BERTScore-f": "bertscore_f",
}  # fmt: skip
REASONING = {"0-shot-thinking|0-shot-reasoning": "✓", "0-shot": "✗"}  # its own where it has a switch, else asked for
SHOTS = {"0-shot": "0", "1-shot": "1", "3-shot": "3"}


def _satire(title: str, metrics: tuple[str, ...], corpus: str, where: Fields | None = None, dagger: str = "") -> Column:
    """A column of the satire task: originals in a corpus of their own or beside the mixed rows, or mixed rows alone."""
    mono = corpus == MONO
    fields = {"corpus": f"{MONO}|{CS}" if mono else corpus, "switching": "none" if mono else "mixed", **(where or {})}
    return Column(title, "satire", metrics, fields, tuned=("-ft-ro" if mono else "-ft-cs", ""), dagger=dagger)


def _by_setting(corpus: str, dagger: str = "") -> tuple[Column, ...]:
    """Accuracy and macro-F1 under each setting."""
    return tuple(
        _satire(f"{name} {title}", metrics, corpus, where={"setting": setting}, dagger=dagger)
        for setting, name in S_SETTINGS.items()
        for title, metrics in (("Acc.", ("accuracy",)), ("F1", F1))
    )


def _by_pair(corpus: str, dagger: str = "") -> tuple[Column, ...]:
    """Macro-F1 by method and language."""
    return tuple(
        _satire(f"{name} {short}", F1, corpus, where={"switching": method, "language": language}, dagger=dagger)
        for method, name in METHODS.items()
        for language, short in MIXED.items()
    )


def _degradation() -> tuple[Column, ...]:
    """Macro-F1 of the originals, then of each method with its difference from them."""
    columns = [_satire("None", F1, MONO)]
    for method, name in METHODS.items():
        where = {"switching": method}
        columns.append(_satire(name, F1, CS, where=where))
        delta = _satire(f"Δ {name}", F1, CS, where, _TWIN)
        columns.append(replace(delta, minus=ORIGINAL, minus_tuned=columns[0].tuned))
    return tuple(columns)


def _failures(slices: dict[str, dict[str, str]], first: str) -> tuple[Column, ...]:
    """FPR and FNR, of the vote over seeds where there are several."""
    places = [(first, MONO, dict[str, str]()), *((name, CS, where) for name, where in slices.items())]
    return tuple(
        replace(_satire(f"{name} {rate}", (f"{metric}_vote_strict", metric), corpus, where), lower=True, sound=metric)
        for name, corpus, where in places
        for rate, metric in RATES.items()
    )


def _unparsed(corpus: str) -> tuple[Column, ...]:
    return tuple(
        replace(_satire(name, ("unparsed",), corpus, {"setting": setting}), lower=True, digits=2)
        for setting, name in S_SETTINGS.items()
    )


def _pingpong(title: str, task: str, metric: str, language: str, setting: str = "") -> Column:
    """A column of one combination of languages, in percent with two digits."""
    where = {"language": language, **({"setting": setting} if setting else {})}
    return Column(title, task, (metric,), where, digits=2)


def _settings(settings: dict[str, str]) -> tuple[Column, ...]:
    """Accuracy of the answerable questions under some settings, by combination."""
    return tuple(
        _pingpong(f"{name} {title}", "dialogue-qa", "accuracy_answerable", language, setting)
        for language, name in COMBINATIONS.items()
        for setting, title in settings.items()
    )


def _main() -> tuple[Column, ...]:
    """Questions, summaries, topics; of ROUGE-L the paper's tokenizer, and soundly the one that sees every script."""
    questions, summaries, topics = (
        [_pingpong(f"{title} {name}", task, metric, language, "0-shot") for language, name in COMBINATIONS.items()]
        for title, task, metric in (
            ("QA", "dialogue-qa", "accuracy_answerable"),
            ("Summary", "dialogue-summary", "rougeL_compat"),
            ("Topic", "dialogue-topic", "accuracy"),
        )
    )
    summaries = [replace(column, percent=False, digits=3, sound="rougeL") for column in summaries]
    return (*questions, *summaries, *topics)


def _summaries(language: str) -> tuple[Column, ...]:
    """Every metric of the summaries of one combination."""
    columns = []
    for title, metric in SUMMARY.items():
        words = metric.startswith(("rouge", "meteor"))
        column = _pingpong(title, "dialogue-summary", f"{metric}{'_compat' if words else ''}", language)
        columns.append(replace(column, digits=3, percent=title == "CHRF++", sound=metric if words else ""))
    return tuple(columns)


SELEROSA = (
    Layout("cs-selerosa-table-2", "CS-SeLeRoSa, Table 2", "macro-F1 in %", tuple(
        _satire(f"{name} {title}", F1, corpus, where={"setting": setting})
        for setting, name in S_SETTINGS.items()
        for title, corpus in (("mono", MONO), ("CS", CS), ("Gold", GOLD)))),
    Layout("cs-selerosa-table-15", "CS-SeLeRoSa, Table 15", "originals of the test split, in %", _by_setting(MONO)),
    Layout("cs-selerosa-table-16", "CS-SeLeRoSa, Table 16", "originals of the gold set, in %", tuple(
        replace(column, where={**column.where, "corpus": GOLD}) for column in _by_setting(MONO))),
    Layout("cs-selerosa-table-17", "CS-SeLeRoSa, Table 17", "code-mixed test split, in %", _by_setting(CS, _MODEL)),
    Layout("cs-selerosa-table-18", "CS-SeLeRoSa, Table 18", "gold set, in %", _by_setting(GOLD, _MODEL)),
    Layout("cs-selerosa-table-19", "CS-SeLeRoSa, Table 19", "macro-F1 in %", _by_pair(CS, _TWIN), S_SETTINGS),
    Layout("cs-selerosa-table-20", "CS-SeLeRoSa, Table 20", "gold set, macro-F1 in %", _by_pair(GOLD), S_SETTINGS),
    Layout("cs-selerosa-table-21", "CS-SeLeRoSa, Table 21", "macro-F1 and its difference from the originals, in %; "
           "bold: the least loss; underlined: the greatest", _degradation(), S_SETTINGS, bold="row", underline=True),
    Layout("cs-selerosa-table-22", "CS-SeLeRoSa, Table 22", "error rates in %; unparsed is an error", _failures(
        {name: {"switching": method} for method, name in METHODS.items()}, "None"), S_SETTINGS, bold=""),
    Layout("cs-selerosa-table-23", "CS-SeLeRoSa, Table 23", "error rates in %; unparsed is an error", _failures(
        {name: {"language": language} for language, name in MIXED.items()}, "RO"), S_SETTINGS, bold=""),
    Layout("cs-selerosa-table-24", "CS-SeLeRoSa, Table 24", "error rates in %; unparsed is an error", tuple(
        replace(_satire(f"{name} {rate}", (metric,), CS, {"setting": setting}), lower=True)
        for setting, name in S_SETTINGS.items()
        for rate, metric in RATES.items()), bold=""),
    Layout("cs-selerosa-table-27", "CS-SeLeRoSa, Table 27", "unparsed answers, in %", _unparsed(CS), bold=""),
    Layout("cs-selerosa-table-28", "CS-SeLeRoSa, Table 28", "gold set, unparsed, in %", _unparsed(GOLD), bold=""),
)  # fmt: skip

MIXSARC = (
    Layout("mixsarc-table-5", "MixSarc, Table 5", "of the positive class, as fractions", tuple(
        Column(title, "implicit-meaning", (f"{metric}_{{block}}",), percent=False, digits=4)
        for title, metric in (("Acc.", "accuracy"), ("Prec.", "precision"), ("Rec.", "recall"), ("F1", "f1"))),
        {"fine-tuning": "Supervised", "zero-shot": "Zero-shot"}, TONES, bold="block"),
)  # fmt: skip

_ASKED = {setting: {"✓": "Reasoning", "✗": "Non-reasoning"}[title] for setting, title in REASONING.items()}
PINGPONG = (
    Layout("pingpong-table-5", "PINGPONG, Table 5", "accuracy in %, ROUGE-L; 0-shot, no reasoning", _main()),
    Layout("pingpong-table-8", "PINGPONG, Table 8", "accuracy of answerable questions, in %", _settings(_ASKED)),
    Layout("pingpong-table-9", "PINGPONG, Table 9", "accuracy of answerable questions, in %",
           _settings({"0-shot": "0-shot", "1-shot": "1-shot"})),
    *(Layout(f"pingpong-table-{first + i}", f"PINGPONG, Table {first + i}",
             f"summaries of {name}, by {by}; CHRF++ in %", _summaries(language), settings, by_model=title)
      for first, by, title, settings in ((10, "reasoning", "Reasoning", REASONING), (15, "examples", "N-shot", SHOTS))
      for i, (language, name) in enumerate(COMBINATIONS.items())),
    Layout("pingpong-table-21", "PINGPONG, Table 21", "accuracy of unanswerable questions, in %; 0-shot", tuple(
        _pingpong(f"{name} {title}", "dialogue-qa", f"accuracy_{category}", language, "0-shot")
        for language, name in list(COMBINATIONS.items())[:3]
        for title, category in CATEGORIES.items())),
)  # fmt: skip

# The papers' order of models: open, closed and frontier ones; of PINGPONG, global and regional ones.
_OPEN = (
    "llama-3.1-8b", "gemma-3-27b", "gemma-4-26b-a4b", "gemma-4-31b", "rollama-3.1-8b", "romistral-7b", "rogemma-2-9b",
)  # fmt: skip
_PAPERS: tuple[tuple[tuple[Layout, ...], tuple[tuple[str, ...], ...]], ...] = (
    (SELEROSA, (_OPEN, ("gpt-4.1-mini", "gpt-5-mini", "gpt-6-luna"), ("gpt-5", "gpt-6-astra", "gpt-6-sol",
     "gpt-6.1-sol"))),
    (MIXSARC, (("banglish-bert", "gemma-2b", "claude-opus-4.8", "gpt-5.5", "kimi-k2-0711", "gemini-2.5-flash",
     "llama-4-maverick"),)),
    (PINGPONG, (("qwen2.5-3b", "qwen2.5-7b", "qwen3-4b", "qwen3-8b", "aya23-8b", "gemma2-9b", "gemma3-4b"),
     ("sailor2-8b", "sahabat-ai-gemma", "silma-9b", "allam-7b"))),
)  # fmt: skip
LAYOUTS: tuple[Layout, ...] = tuple(replace(layout, groups=groups) for paper, groups in _PAPERS for layout in paper)


def paper_tables(scores: Sequence[Score], tests: Sequence[Test]) -> list[Table]:
    """Every table that the scores have a cell of: as the paper prints it, then soundly."""
    found = (fill(layout, scores, tests, sound) for layout in LAYOUTS for sound in (False, True))
    return [table for table in found if table is not None]
