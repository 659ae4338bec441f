"""Which row kills the engine: found with few deaths, whatever else was in the engine, never told of a broken one."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixgrid.suspects import IN_A_ROW, LOST, Orders, Piece, Suspects


def drive(book: Suspects, rows: int, kills: Iterable[int], lost: Iterable[int] = ()) -> tuple[set[int], list[int], int]:
    """One block asked to its end by engines that the rows `kills` kill; the engines numbered `lost` die of their node.

    Gives the rows found to be poison, the rows answered, and how many engines died.
    """
    poison: set[int] = set()
    answered: list[int] = []
    engine = 0
    while True:
        orders = book.take("block", rows, str(engine))
        assert not orders.give_up
        for piece in orders.pieces:
            if piece.alone:
                book.asks("block", piece, str(engine))
            asked = range(piece.start, piece.stop)
            if engine in lost or (set(asked) & set(kills) and not piece.poison):
                book.died(str(engine), "boom")
                break
            (poison.update if piece.poison else answered.extend)(asked)
            book.done("block", piece)
        else:
            return poison, answered, engine
        engine += 1


@given(st.integers(1, 600), st.data())
def test_every_row_that_kills_is_found_and_every_other_is_answered_once(rows: int, data: st.DataObject) -> None:
    kills = data.draw(st.sets(st.integers(0, rows - 1), max_size=4))
    poison, answered, _ = drive(Suspects(restarts=1000), rows, kills)
    assert poison == kills
    assert sorted(answered) == sorted(set(range(rows)) - kills)


@pytest.mark.parametrize(("rows", "deaths"), [(1, 3), (16, 4), (256, 5), (4096, 6)])
def test_one_row_is_found_with_few_deaths(rows: int, deaths: int) -> None:
    assert drive(Suspects(restarts=9), rows, {rows - 1}) == ({rows - 1}, list(range(rows - 1)), deaths)


@given(st.integers(1, 100), st.sets(st.integers(0, 6)))
def test_nodes_that_are_lost_convict_nobody_unless_it_is_twice_over_one_row(rows: int, lost: set[int]) -> None:
    """A lost node looks like a death. Two over the same single row are the least that convicts."""
    poison, answered, _ = drive(Suspects(restarts=1000), rows, (), lost)
    assert sorted([*poison, *answered]) == list(range(rows))
    if len(lost) < 3:
        assert not poison


def test_a_block_beside_the_one_that_kills_is_asked_alone_once_and_left_in_peace() -> None:
    book = Suspects(restarts=9)
    book.take("guilty", 4, "one")
    book.take("innocent", 4, "one")
    again = book.take("innocent", 4, "two")
    assert list(again.pieces) == [Piece(0, 4, alone=True)]
    assert len(again.news) == 1
    book.asks("innocent", again.pieces[0], "two")
    book.done("innocent", again.pieces[0])
    assert book.take("guilty", 4, "two").news == ()  # the same death, told already
    assert book.take("innocent", 4, "three").pieces == ()  # Ray may ask for a result again that it lost


def test_a_block_that_comes_back_to_the_same_engine_is_no_death() -> None:
    book = Suspects(restarts=0)
    book.take("block", 4, "one")
    assert book.take("block", 4, "one").pieces == (Piece(0, 4),)
    assert not book.dead


def test_engines_that_die_without_an_answer_between_are_given_up() -> None:
    book = Suspects(restarts=1000)
    for n in range(IN_A_ROW):
        book.take(f"block {n}", 4, str(n))
        assert not book.take("other", 4, "x").give_up
        book.died(str(n), "CUDA error")
        orders = book.take(f"block {n}", 4, "next")
    assert orders.give_up == "its engine died 8 times without an answer in between; last: CUDA error"


def test_restarts_are_capped_even_where_answers_come_between() -> None:
    book = Suspects(restarts=2)
    for n in range(3):
        book.take(f"block {n}", 1, str(n))
        orders = book.take(f"block {n}", 1, "next")
        book.done(f"block {n}", orders.pieces[0])
    assert orders.give_up.startswith(
        "its engine died 3 times, more than the 2 restarts it has; last: its process was lost"
    )


def test_engines_whose_processes_are_lost_while_they_load_are_given_up() -> None:
    book = Suspects(restarts=1000, engines=3)
    assert not any(book.starts() for _ in range(IN_A_ROW + 3))
    book.died("x", "no row was finished for 1800 s")
    assert book.starts() == (
        "its engine was started 12 times and answered nothing; last: no row was finished for 1800 s"
    )
    book.take("block", 1, "y")
    book.done("block", Piece(0, 1))
    assert not book.starts()


def test_a_process_that_is_lost_with_its_answers_written_is_told_of_once() -> None:
    book = Suspects(restarts=9)
    for block in ("a", "b"):
        (piece,) = book.take(block, 6, "first").pieces
        book.done(block, piece)
    news = "engine died between two blocks: its process was lost: killed, out of memory, or with its node"
    assert book.take("a", 6, "second") == Orders((), (news,))
    assert book.take("b", 6, "second") == Orders(())
    assert not book.missed()


def test_a_process_that_is_lost_without_a_block_shows_by_the_start_of_the_next() -> None:
    book = Suspects(restarts=9, engines=2)
    for _ in range(3):
        book.starts()
    book.take("a", 6, "first")
    assert book.missed() == (f"engine died between two blocks: {LOST}",)
    assert book.take("a", 6, "second").news
    assert not book.missed()


def test_what_an_engine_says_before_it_dies_without_a_block_is_its_reason() -> None:
    """As one that hangs while it loads: no other process was lost, and none was killed."""
    book = Suspects(restarts=9)
    book.starts()
    book.died("first", "no row was finished for 1800 s")
    book.starts()
    assert book.missed() == ("engine died between two blocks: no row was finished for 1800 s",)
