"""S3-compatible storage through boto3, with boto3's own lookup of endpoint, region and credentials.

Nothing of that is ever stored in an object of ours: environment, profile or instance role of the process decide.
`MIXGRID_S3_ADDRESSING` (auto, path, virtual) overrides the addressing style.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

import boto3
import botocore.session
from botocore.client import Config
from botocore.configprovider import ConfiguredEndpointProvider
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    PartialCredentialsError,
    SSLError,
)
from botocore.exceptions import ConnectionError as NoConnectionError

from mixgrid.errors import UserError, allowed
from mixgrid.store.base import Entry, NotFound, StoreError

T = TypeVar("T")
ADDRESSING = ("auto", "path", "virtual")
_ABSENT = {"404", "NoSuchKey", "NotFound"}
_ADVICE = {
    "400": "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "301": "set AWS_REGION to the bucket's region",
    "403": "check the keys, and that they may list, read, write and delete there",
    "AccessDenied": "the keys need to list, read, write and delete there",
    "AuthorizationHeaderMalformed": "set AWS_REGION to the bucket's region",
    "ExpiredToken": "renew the session token (AWS_SESSION_TOKEN)",
    "InvalidAccessKeyId": "set AWS_ACCESS_KEY_ID to a key that this server knows",
    "NoSuchBucket": "create the bucket, or name another in the store's URL",
    "PermanentRedirect": "set AWS_REGION to the bucket's region",
    "RequestTimeTooSkewed": "set this machine's clock",
    "SignatureDoesNotMatch": "set AWS_SECRET_ACCESS_KEY to the secret of AWS_ACCESS_KEY_ID",
}


@dataclass(frozen=True)
class S3Backend:
    """Keys under s3://bucket/prefix; a server that is away is waited for up to patience_s seconds."""

    bucket: str
    prefix: str
    patience_s: float

    def put(self, key: str, data: bytes) -> None:
        """One PUT: not atomic on every server, so what must not tear has its size or hash in the name."""
        self._call("write", key, lambda: self._client.put_object(**self._at(key), Body=data))

    def get(self, key: str, span: tuple[int, int] | None = None) -> bytes:
        """One GET, with a Range where a span is asked for; a broken answer is asked for again."""
        extra = {"Range": f"bytes={span[0]}-{span[1] - 1}"} if span else {}

        def fetch() -> bytes:
            return bytes(self._client.get_object(**self._at(key), **extra)["Body"].read())

        return self._call("read", key, fetch)

    def size(self, key: str) -> int:
        """One HEAD."""
        return self._call("look up", key, lambda: int(self._client.head_object(**self._at(key))["ContentLength"]))

    def delete(self, key: str) -> None:
        """One DELETE; S3 does not mind a missing key."""
        self._call("delete", key, lambda: self._client.delete_object(**self._at(key)))

    def list(self, prefix: str) -> Iterator[Entry]:
        """All pages, sorted here: not every server keeps S3's order. Folder markers are left out."""
        yield from self._call("list", prefix, lambda: sorted(self._entries(prefix)))

    def _entries(self, prefix: str) -> Iterator[Entry]:
        root = f"{self.prefix}/" if self.prefix else ""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=root + prefix)
        for page in pages:
            for item in page.get("Contents", ()):
                if not item["Key"].endswith("/"):
                    yield Entry(item["Key"].removeprefix(root), item["Size"])

    def _at(self, key: str) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": f"{self.prefix}/{key}" if self.prefix else key}

    @cached_property
    def _client(self) -> Any:
        try:
            return shared_client(impatient=self.patience_s == 0)
        except (BotoCoreError, ValueError) as error:
            raise StoreError(f"cannot set up S3 for s3://{self.bucket}: {error}; mend the AWS settings") from error

    def _call(self, verb: str, key: str, act: Callable[[], T]) -> T:
        """Acts; trouble that may pass (server away, 5xx, broken answer) is retried until the patience is spent."""
        deadline, pause = time.monotonic() + self.patience_s, 0.5
        while True:
            try:
                return act()
            except (BotoCoreError, ClientError) as error:
                if not _may_pass(error) or time.monotonic() + pause > deadline:
                    raise self._explained(verb, key, error) from error
            time.sleep(pause)
            pause = min(2 * pause, 5.0)

    def _explained(self, verb: str, key: str, error: BotoCoreError | ClientError) -> StoreError:
        where = f"s3://{self.bucket}/{self.prefix}".rstrip("/")
        code = _code(error)
        if code in _ABSENT and verb in ("read", "look up"):
            return NotFound(f"{key!a} is not in the store {where}")
        # HEAD has no body, so its code is the bare status; userinfo in an endpoint is a secret.
        host = urlsplit(str(self._client.meta.endpoint_url))
        endpoint = f"{host.scheme}://{host.netloc.rpartition('@')[2]}"
        return StoreError(f"cannot {verb} {key!a} in the store {where} at {endpoint}: {code}; {_advice(error)}")


def shared_client(impatient: bool = False) -> Any:
    """One client for each process and setting, for all threads: making one costs a fifth of a second of CPU."""
    named = (item for item in os.environ.items() if item[0].startswith(("AWS_", "MIXGRID_S3_")))
    return _made_once(impatient, tuple(sorted(named)))


@lru_cache(maxsize=8)
def _made_once(impatient: bool, _settings: tuple[tuple[str, str], ...]) -> Any:
    return make_client(impatient)


def make_client(impatient: bool = False) -> Any:
    """An S3 client from this process's environment, profile or role; impatient ones fail within seconds.

    The return type is Any on purpose: boto3 builds its clients at run time.
    """
    core = botocore.session.Session()
    custom = _custom_endpoint(core)
    style = os.environ.get("MIXGRID_S3_ADDRESSING", "path" if custom else "auto")
    if style not in ADDRESSING:
        raise UserError(f"MIXGRID_S3_ADDRESSING is {style!r}: {allowed(style, ADDRESSING)}")
    # Old S3-compatible servers refuse the checksums that boto3 adds since 1.36; Amazon's own buckets may need them.
    checksums: Any = "when_required" if custom else None
    addressing: Any = {"addressing_style": style}
    config = Config(
        connect_timeout=5,
        read_timeout=5 if impatient else 60,
        retries={"mode": "standard", "total_max_attempts": 2 if impatient else 3},
        max_pool_connections=32,
        s3=addressing,
        request_checksum_calculation=checksums,
        response_checksum_validation=checksums,
    )
    region = os.environ.get("AWS_REGION") or core.get_config_variable("region") or "us-east-1"
    return boto3.Session(botocore_session=core).client("s3", region_name=region, config=config)


def _custom_endpoint(core: botocore.session.Session) -> bool:
    """Whether environment or profile names an endpoint, by botocore's own order of lookup."""
    if core.get_config_variable("ignore_configured_endpoint_urls"):
        return False
    lookup = ConfiguredEndpointProvider(core.full_config, core.get_scoped_config(), client_name="s3")
    return lookup.provide() is not None


def _code(error: BotoCoreError | ClientError) -> str:
    return str(error.response["Error"]["Code"]) if isinstance(error, ClientError) else type(error).__name__


def _may_pass(error: BotoCoreError | ClientError) -> bool:
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return status >= 500 or status in (408, 429) or _code(error) in ("RequestTimeout", "SlowDown")
    passing = isinstance(error, HTTPClientError | NoConnectionError | IncompleteReadError)
    return passing and not isinstance(error, SSLError)


def _advice(error: BotoCoreError | ClientError) -> str:
    """What to set or start, in half a sentence."""
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run with a role"
    if _may_pass(error):
        return "is the server up, and is AWS_ENDPOINT_URL_S3 right?"
    return _ADVICE.get(_code(error), str(error))
