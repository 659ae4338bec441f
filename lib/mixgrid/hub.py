"""Whether the Hugging Face hub can be reached: its own client tries for half a minute before it says that it cannot."""

import urllib.error
import urllib.request
from functools import cache
from http.client import HTTPException

PATIENCE_S = 5.0


def reachable() -> bool:
    """Whether the hub answers, with anything, and may be asked; found out once in a process."""
    from huggingface_hub import constants  # an HTTP stack that local files have no use for

    return not constants.HF_HUB_OFFLINE and _answers(constants.ENDPOINT)


@cache
def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=PATIENCE_S):
            return True
    except urllib.error.HTTPError:
        return True
    except (OSError, HTTPException, ValueError):  # nobody there; somebody who speaks no HTTP; no address at all
        return False
