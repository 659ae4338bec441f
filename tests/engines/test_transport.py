"""How long a body may take."""

from collections.abc import Iterator
from types import SimpleNamespace

import httpx2
import pytest

from mixgrid.engines.transport import SLOWEST, in_time


class Body(httpx2.SyncByteStream):
    """Parts of a size, one each second of a clock."""

    def __init__(self, clock: list[float], size: int) -> None:
        self.clock, self.size, self.closed = clock, size, False

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(100):
            self.clock[0] += 1
            yield bytes(self.size)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("mixgrid.engines.transport.time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_a_large_file_may_take_longer_than_an_answer_and_a_slow_one_may_not(clock: list[float]) -> None:
    for size, whole in ((SLOWEST, True), (SLOWEST // 2, False), (1, False)):
        body = Body(clock, size)
        response = httpx2.Response(200, stream=body)
        in_time(5.0)(response)
        if whole:
            assert len(response.read()) == 100 * size
        else:
            with pytest.raises(httpx2.ReadTimeout, match="too slowly"):
                response.read()
            response.close()
        assert body.closed
