"""HTTP for the SDK's client by aiohttp, which takes a third of the processor time that httpx's own transport does.

Its errors are told in httpx's words, as the SDK knows them; what they mean for a bill is decided in retry.py. Batches,
whose files are large and whose calls are few, go by httpx itself, with `in_time` for their answers.
"""

import time
import urllib.request
from collections.abc import Callable, Iterator

import aiohttp
import httpx2


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """One pool of connections; whole bodies only, as completions are short. Lives on one event loop."""

    def __init__(self, keepalive_s: float) -> None:
        self._keepalive_s = keepalive_s
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request, once; a proxy is the environment's."""
        waits = request.extensions.get("timeout", {})
        # The time of a read is that of the whole answer: a server that sends byte by byte would hold it for ever.
        timeout = aiohttp.ClientTimeout(total=waits.get("read"), sock_connect=waits.get("connect"))
        try:
            async with self._open().request(
                request.method, str(request.url), headers=request.headers.multi_items(), data=await request.aread(),
                allow_redirects=False, timeout=timeout, proxy=proxy_of(request.url.scheme, request.url.netloc.decode()),
            ) as answer:  # fmt: skip
                content = await answer.read()
        except aiohttp.ConnectionTimeoutError as error:
            raise httpx2.ConnectTimeout(str(error), request=request) from error
        except TimeoutError as error:
            raise httpx2.ReadTimeout(str(error), request=request) from error
        except aiohttp.ClientConnectorError as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        except (aiohttp.ClientError, OSError) as error:
            raise httpx2.ReadError(str(error), request=request) from error
        return httpx2.Response(answer.status, headers=answer.raw_headers, content=content, request=request)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=self._keepalive_s)
            self._session = aiohttp.ClientSession(
                connector=connector, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session


SLOWEST = 100_000  # bytes a second of a large file that is still worth waiting for


def in_time(timeout_s: float) -> Callable[[httpx2.Response], None]:
    """A hook for responses: ReadTimeout for a body that takes longer in all, as httpx times each read for itself.

    A large file has as much more time as it takes at `SLOWEST`.
    """

    def hook(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _InTime(response.stream, time.monotonic() + timeout_s)

    return hook


class _InTime(httpx2.SyncByteStream):
    """A body with a time to be over."""

    def __init__(self, body: httpx2.SyncByteStream, until: float) -> None:
        self._body, self._until = body, until

    def __iter__(self) -> Iterator[bytes]:
        for part in self._body:
            self._until += len(part) / SLOWEST
            if time.monotonic() > self._until:
                raise httpx2.ReadTimeout("the body came too slowly")
            yield part

    def close(self) -> None:
        self._body.close()


def proxy_of(scheme: str, host: str) -> str | None:
    """The environment's proxy for a host. aiohttp's `trust_env` would add what ~/.netrc says beside our own key."""
    return None if urllib.request.proxy_bypass(host) else urllib.request.getproxies().get(scheme)
