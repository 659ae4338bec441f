"""A job server that is away, of another version, or guarded: what is said before anything is sent."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import ray

from mixgrid.cluster.jobs import DEFAULT, JobServer, address_of
from mixgrid.errors import UserError
from tests.servers import free_port


@contextmanager
def answering(status: int, body: object) -> Iterator[str]:
    """A real HTTP server that answers every request the same."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_another_version_of_ray_is_refused_before_anything_is_sent() -> None:
    said = rf"the cluster runs Ray 2\.40\.0, this machine {ray.__version__}"
    body = {"version": "4", "ray_version": "2.40.0", "ray_commit": "x", "session_name": "x"}
    with answering(200, body) as address, pytest.raises(UserError, match=said):
        JobServer(address)


def test_a_server_that_wants_a_token_says_which_variables_to_set() -> None:
    with answering(401, "no token") as address, pytest.raises(UserError, match="RAY_AUTH_MODE=token"):
        JobServer(address)


def test_no_server_is_a_sentence_and_nothing_was_started() -> None:
    with pytest.raises(UserError, match=r"no Ray job server answers .*open the tunnel") as error:
        JobServer(f"http://127.0.0.1:{free_port()}")
    assert error.value.exit_code == 2


def test_something_else_on_the_port_is_a_sentence() -> None:
    with answering(500, "oh") as address, pytest.raises(UserError, match=address):
        JobServer(address)


def test_the_address_is_the_option_s_or_the_environment_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_API_SERVER_ADDRESS", raising=False)
    assert address_of(None) == DEFAULT
    monkeypatch.setenv("RAY_API_SERVER_ADDRESS", "http://head:8265")
    assert address_of(None) == "http://head:8265"
    assert address_of("http://other") == "http://other"
