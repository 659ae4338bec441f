"""Which row kills the engine: what an actor that died was asked is asked again, alone, then in ever smaller pieces.

One object for each model's call, outside of the engines' processes, so that it outlives them. For every block:

    block (with others)  → the block alone → its pieces → single rows → a row that died twice, alone: poison

A step down costs an engine's start, which may be minutes, so a block is cut into 16, not in halves: of 256 rows one
that kills is found with the fifth death. A hung engine is ended by its actor and counts as dead. That a node was lost
looks the same, and costs one extra step at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

CUT = 16
TWICE = 2  # deaths of a row on its own: one may be its node's
LOST = "its process was lost: killed, out of memory, or with its node"  # one that says nothing itself
IN_A_ROW = 8  # engines that die without an answer in between are broken, whatever they were asked


@dataclass(frozen=True)
class Piece:
    """Rows of a block that are asked together."""

    start: int
    stop: int
    alone: bool = False  # nothing else may be in the engine meanwhile
    deaths: int = 0

    @property
    def poison(self) -> bool:
        """Whether this is one row, and it killed the engine whenever it was asked on its own."""
        return self.stop - self.start == 1 and self.deaths >= TWICE


@dataclass(frozen=True)
class Orders:
    """What an actor that takes a block has to do with it."""

    pieces: Sequence[Piece]
    news: Sequence[str] = ()  # what became known with this taking, for logs and status
    give_up: str = ""


class Book(Protocol):
    """What an actor sees of the suspects; `who` names its process."""

    def starts(self) -> str:
        """An engine is about to load; why it should not, where the ones before it never came to answer."""
        ...

    def take(self, block: str, rows: int, who: str) -> Orders:
        """The pieces of a block that are not answered yet; a fresh block is asked as a whole, from now on."""
        ...

    def asks(self, block: str, piece: Piece, who: str) -> None:
        """The piece goes into the engine now."""
        ...

    def done(self, block: str, piece: Piece) -> None:
        """The piece's rows are in the store."""
        ...

    def died(self, who: str, why: str) -> None:
        """The last word of an actor whose engine died; one whose process was killed says nothing."""
        ...


@dataclass
class _Case:
    todo: list[Piece]
    asked: Piece | None = None
    who: str = ""


@dataclass
class Suspects:
    """The book itself."""

    restarts: int
    engines: int = 1  # that load at the same time
    started: int = 0
    loads: int = 0  # since the last answer
    cases: dict[str, _Case] = field(default_factory=dict)
    dead: dict[str, str] = field(default_factory=dict)  # process → why
    words: dict[str, str] = field(default_factory=dict)
    in_a_row: int = 0

    def starts(self) -> str:
        """A process that is lost while its engine loads leaves no other trace than the next one's start."""
        self.started, self.loads = self.started + 1, self.loads + 1
        return self._hopeless()

    def take(self, block: str, rows: int, who: str) -> Orders:
        """A block whose last taker never came back has killed it, or was beside what did."""
        case = self.cases.get(block)
        if case is None:
            whole = Piece(0, rows)
            self.cases[block] = _Case([whole], whole, who)
            return Orders((whole,), give_up=self._hopeless())
        news = self._lost(case) if case.who != who else ()
        return Orders(tuple(case.todo), news, self._hopeless())

    def asks(self, block: str, piece: Piece, who: str) -> None:
        """From here on the piece is a suspect."""
        self.cases[block].asked, self.cases[block].who = piece, who

    def done(self, block: str, piece: Piece) -> None:
        """The engine lives."""
        case = self.cases[block]
        case.todo.remove(piece)
        case.asked, self.in_a_row, self.loads = None, 0, 0

    def died(self, who: str, why: str) -> None:
        """Kept until a block shows that the process is gone."""
        self.words.setdefault(who, why)

    def missed(self) -> tuple[str, ...]:
        """At the end, of each process that was lost and of which no block told, as it held none: what it said."""
        lost = max(0, self.started - self.engines - len(self.dead))
        said = [why for who, why in self.words.items() if who not in self.dead]
        return tuple(f"engine died between two blocks: {why}" for why in [*said, *[LOST] * lost][:lost])

    def _lost(self, case: _Case) -> tuple[str, ...]:
        piece, case.asked = case.asked, None
        if piece:
            case.todo[:1] = _next_step(piece)
        if case.who in self.dead:
            return ()
        self.in_a_row += 1
        self.dead[case.who] = self.words.get(case.who, LOST)
        over = f"over {piece.stop - piece.start} rows" if piece else "between two blocks"
        return (f"engine died {over}: {self.dead[case.who]}",)

    def _hopeless(self) -> str:
        """Why no other engine is tried; empty while one is."""
        last = next(reversed([*self.words.values(), *self.dead.values()]), "its process was lost")
        if self.loads > self.engines + IN_A_ROW:
            return f"its engine was started {self.loads} times and answered nothing; last: {last}"
        if self.in_a_row >= IN_A_ROW:
            return f"its engine died {self.in_a_row} times without an answer in between; last: {last}"
        if len(self.dead) > self.restarts:
            return (
                f"its engine died {len(self.dead)} times, more than the {self.restarts} restarts it has; last: {last}"
            )
        return ""


def _next_step(piece: Piece) -> list[Piece]:
    if not piece.alone:
        return [replace(piece, alone=True)]
    rows = piece.stop - piece.start
    if rows == 1:
        return [replace(piece, deaths=piece.deaths + 1)]
    step = -(-rows // CUT)
    return [Piece(n, min(n + step, piece.stop), alone=True) for n in range(piece.start, piece.stop, step)]
