"""The bytes of a corpus file: a local path, an s3:// object, or a file of the Hugging Face hub at a pinned revision."""

import re
from pathlib import Path
from urllib.parse import unquote

from mixgrid import hub
from mixgrid.corpora.catalogue import REMOTE, Corpus
from mixgrid.errors import UserError
from mixgrid.store import NotFound, Store, StoreError

_OBJECT = re.compile(r"s3://[^/]+/(.*[^/])")
_HUB = re.compile(r"hf://datasets/(?P<repo>[^/@]+/[^/@]+)(?:@(?P<revision>[^/]+))?/(?P<file>.+)")


def fetch(corpus: Corpus, path: str) -> bytes:
    """The file's bytes; UserError says how to get a file that is not there."""
    if path.startswith("hf://"):
        return _read(corpus, path, _from_hub(corpus, path))
    if path.startswith("s3://"):
        return _from_s3(corpus, path)
    if REMOTE.match(path):
        raise UserError(
            f"{corpus.where}: key 'path': {path!r} is neither a file, an object s3://bucket/key nor a hub's file "
            "hf://datasets/ORG/NAME@COMMIT/FILE"
        )
    return _read(corpus, path, Path(path))


def _read(corpus: Corpus, named: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise _absent(corpus, named) from None
    except OSError as error:
        raise UserError(f"{corpus.where}: {named} cannot be read ({error.strerror}); name a readable file") from None


def _from_s3(corpus: Corpus, path: str) -> bytes:
    if not _OBJECT.fullmatch(path):
        raise UserError(
            f"{corpus.where}: key 'path': {path!r} names no object; write s3://bucket/key, the key to its end"
        )
    folder, _, name = path.rpartition("/")
    try:
        return Store.open(folder).get(name)
    except NotFound:
        raise _absent(corpus, path) from None
    except StoreError as error:
        raise UserError(f"{corpus.where}: {path} cannot be read: {error}") from error


def _from_hub(corpus: Corpus, path: str) -> Path:
    """The file in the hub's local cache, fetched once. A branch is refused: its rows may change under the grid."""
    match = _HUB.fullmatch(path)
    revision = unquote(match["revision"] or "") if match else ""
    if match is None or revision in ("", "COMMIT", "main", "master"):
        raise UserError(
            f"{corpus.where}: key 'path': {path!r} must pin a revision: hf://datasets/ORG/NAME@COMMIT/FILE; "
            "the commit stands on the data set's page under `Files and versions`, `History`"
        )
    from huggingface_hub import hf_hub_download  # imports an HTTP stack that local corpora have no use for
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(
            hf_hub_download(
                match["repo"],
                match["file"],
                repo_type="dataset",
                revision=revision,
                local_files_only=not hub.reachable(),
            )
        )
    except LocalEntryNotFoundError as error:
        raise UserError(
            f"{corpus.where}: {path} is not in the local cache, and the hub cannot be reached; "
            "connect this machine, or download the file elsewhere and let `path` name it"
        ) from error
    except EntryNotFoundError:
        raise _absent(corpus, path) from None
    except (HfHubHTTPError, HFValidationError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"{corpus.where}: the hub refuses {path}: {reason}; is HF_TOKEN set and access granted?"
        ) from error


def _absent(corpus: Corpus, path: str) -> UserError:
    remedy = "Mend `path`" if path.startswith("hf://") else "Put the file there or mend `path`"
    return UserError(f"{corpus.where}: {_noun(path)} {path} is not there. {corpus.entry.obtain or remedy}")


def _noun(path: str) -> str:
    return "the object" if path.startswith("s3://") else "the hub's file" if path.startswith("hf://") else "the file"
