"""A hub counts as reachable once it answers over HTTP, and nothing that stands in its place is an error."""

import socket
import threading
from collections.abc import Iterator

import pytest
from huggingface_hub import constants

from mixgrid import hub


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    return monkeypatch


@pytest.fixture
def says(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that answers the first who comes with the parameter."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(request.param)

        threading.Thread(target=answer, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("says", [b"HTTP/1.1 403 No\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"], indirect=True)
def test_a_hub_that_answers_anything_is_reachable(online: pytest.MonkeyPatch, says: str) -> None:
    online.setattr(constants, "ENDPOINT", says)
    assert hub.reachable()
    online.setattr(constants, "HF_HUB_OFFLINE", True)
    assert not hub.reachable()


@pytest.mark.parametrize("says", [b"SSH-2.0-OpenSSH_9.6\r\n"], indirect=True)
def test_a_server_that_speaks_no_http_is_no_hub(online: pytest.MonkeyPatch, says: str) -> None:
    online.setattr(constants, "ENDPOINT", says)
    assert not hub.reachable()


@pytest.mark.parametrize("address", ["hub.example", "http://[::1", "http://127.0.0.1:9"])
def test_an_address_where_nobody_is_is_no_hub(online: pytest.MonkeyPatch, address: str) -> None:
    online.setattr(constants, "ENDPOINT", address)
    assert not hub.reachable()
