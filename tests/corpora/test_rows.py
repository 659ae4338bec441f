"""Rows come out of every format as they stand in the file; what is no row is named."""

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.corpora.base import BadRow
from mixgrid.corpora.rows import FileBytes, Row, format_of, rows
from mixgrid.errors import UserError

BOM = b"\xef\xbb\xbf"


def read(data: bytes, kind: str, quoting: str = "minimal") -> list[Row | BadRow]:
    return list(rows(FileBytes(f"folder/file.{kind}", data, kind, quoting)))


def values(data: bytes, kind: str, quoting: str = "minimal") -> list[dict[str, Any]]:
    found = read(data, kind, quoting)
    assert all(isinstance(row, Row) for row in found), found
    return [dict(row.values) for row in found if isinstance(row, Row)]


def reason(data: bytes, kind: str) -> str:
    """Why the last row is bad."""
    last = read(data, kind)[-1]
    assert isinstance(last, BadRow), last
    return str(last)


def parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("csv", b"id,text\n007,NA\n1e5,None\n"),
        ("tsv", b"id\ttext\n007\tNA\n1e5\tNone\n"),
        ("jsonl", b'{"id": "007", "text": "NA"}\n{"id": "1e5", "text": "None"}\n'),
        ("json", b'[{"id": "007", "text": "NA"}, {"id": "1e5", "text": "None"}]'),
        ("parquet", parquet(pa.table({"id": ["007", "1e5"], "text": ["NA", "None"]}))),
    ],
)
def test_ids_and_labels_that_look_like_numbers_or_nulls_stay_text(kind: str, data: bytes) -> None:
    assert values(data, kind) == [{"id": "007", "text": "NA"}, {"id": "1e5", "text": "None"}]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("csv", b"id,t\n1,x\n"),
        ("tsv", b"id\tt\n1\tx\n"),
        ("jsonl", b'{"id":"1","t":"x"}'),
        ("json", b'[{"id":"1","t":"x"}]'),
    ],
)
@pytest.mark.parametrize("bom", [b"", BOM])
def test_a_byte_order_mark_is_no_part_of_the_first_column(kind: str, data: bytes, bom: bytes) -> None:
    assert values(bom + data, kind) == [{"id": "1", "t": "x"}]


@pytest.mark.parametrize("kind", ["csv", "tsv", "json", "jsonl"])
def test_a_file_that_is_not_utf8_is_refused_with_the_byte(kind: str) -> None:
    with pytest.raises(UserError, match=r"file\.\w+: not UTF-8 at byte 8"):
        read("id,text\nșț".encode()[:8] + b"\xff", kind)


def test_utf16_is_recognised_in_the_message() -> None:
    with pytest.raises(UserError, match="looks like UTF-16"):
        read("id,text\n".encode("utf-16"), "csv")


def test_csv_with_crlf_keeps_newlines_that_are_quoted() -> None:
    data = b'id,text\r\n1,"a\r\nb"\r\n2,"say ""no"""\r\n'
    assert values(data, "csv") == [{"id": "1", "text": "a\r\nb"}, {"id": "2", "text": 'say "no"'}]


def test_csv_keeps_what_spreadsheets_would_run_and_what_formats_would_fill() -> None:
    data = b"id,text\n1,=SUM(A1)\n2,{loadposition\n3,-1\n"
    assert [row["text"] for row in values(data, "csv")] == ["=SUM(A1)", "{loadposition", "-1"]


def test_csv_holds_cells_longer_than_the_csv_module_allows() -> None:
    long = "x" * 200_000
    assert values(f"id,text\n1,{long}\n".encode(), "csv")[0]["text"] == long


def test_csv_with_an_unnamed_first_column_and_a_blank_last_line() -> None:
    assert values(b",text\n0,a\n\n", "csv") == [{"": "0", "text": "a"}]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"id,text\n1,a\n2\n", "file.csv row 2: 1 cells under 2 columns"),
        (b"id,text\n1,a,b\n", "file.csv row 1: 3 cells under 2 columns"),
        (b'id,text\n1,a\n2,"open\n3,b\n', "file.csv row 2: not csv from here on"),
        (b'id,text\n1,"a"b\n', "file.csv row 1: not csv from here on"),
    ],
)
def test_a_csv_row_that_does_not_fit_is_named(data: bytes, why: str) -> None:
    assert reason(data, "csv").startswith(why)


def test_a_header_with_a_name_twice_is_refused() -> None:
    with pytest.raises(UserError, match="names 'text' twice"):
        read(b"text,text\na,b\n", "csv")


def test_quotation_marks_in_tsv_can_be_text() -> None:
    data = b'id\ttext\n1\t"Da\n2\ta "b" c\n'
    assert [row["text"] for row in values(data, "tsv", "none")] == ['"Da', 'a "b" c']


def test_jsonl_ends_lines_at_lf_only() -> None:
    text = "a\u2028b\u2029c\u0085d\x0be"
    data = json.dumps({"t": text}, ensure_ascii=False).replace("\\u000b", "\\u000b").encode() + b"\r\n\r\n"
    assert values(data + b'{"t": "f"}', "jsonl") == [{"t": text}, {"t": "f"}]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (rb'{"t": "a\ud83d"}', "'t' holds the lone surrogate U+D83D"),
        (rb'{"turns": [{"text": "\udc00"}]}', "'turns' holds the lone surrogate U+DC00"),
        (b'{"t": "torn', "not JSON: Unterminated string"),
        (b'{"t": NaN}', "NaN is not JSON"),
        (b'{"t": 1, "t": 2}', "key 't' stands there twice"),
        (b'["t"]', "a JSON list, where an object is wanted"),
    ],
)
def test_a_json_line_that_is_no_record_is_named(line: bytes, why: str) -> None:
    assert reason(b'{"t": "fine"}\n\n' + line, "jsonl").startswith(f"file.jsonl row 3: {why}")


def test_nesting_without_end_is_a_bad_row_not_a_crash() -> None:
    assert "row 1" in reason(b'{"t": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "jsonl")


def test_paired_surrogates_are_the_character_they_stand_for() -> None:
    assert values(rb'{"t": "\ud83d\ude05"}', "jsonl") == [{"t": "😅"}]


@pytest.mark.parametrize("data", [b'{"a": 1}', b"", b"[1"])
def test_a_json_file_must_be_an_array(data: bytes) -> None:
    with pytest.raises(UserError, match=r"file\.json: "):
        read(data, "json")


def test_bytes_that_are_no_parquet_or_no_utf8_are_refused() -> None:
    bad_text = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    for data in (b"PAR1 but not really", parquet(pa.table({"t": bad_text}))):
        with pytest.raises(UserError, match=r"file\.parquet: not a readable Parquet file"):
            read(data, "parquet")


def test_the_format_is_the_ending_or_must_be_said() -> None:
    assert format_of("hf://datasets/o/n@1/ID-EN (x)/test-00000-of-00001.PARQUET", "here") == "parquet"
    with pytest.raises(UserError, match="set `format:`"):
        format_of("data.txt", "here")


@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=1))
def test_any_text_survives_jsonl(texts: list[str]) -> None:
    lines = "\n".join(json.dumps({"t": text}, ensure_ascii=False) for text in texts)
    assert [row["t"] for row in values(lines.encode(), "jsonl")] == texts
