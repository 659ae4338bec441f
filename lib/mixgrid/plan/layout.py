"""Where things lie in the store. Keys only: nothing is read or written here."""

import re

from mixgrid.records import Run


def run_folder(namespace: str, run_id: str) -> str:
    """The folder of a run: run.json, requests-*.parquet, progress/."""
    return f"{namespace}/runs/{run_id}"


def run_key(namespace: str, run_id: str) -> str:
    """What a run is and what froze it; and how the latest call left it: exit code, counts of rows, time, money."""
    return f"{run_folder(namespace, run_id)}/run.json"


def predictions_root(namespace: str) -> str:
    """The folder above every part of predictions."""
    return f"{namespace}/predictions"


def predictions_folder(namespace: str, run: Run) -> str:
    """The folder of a run's predictions; setting and seed are columns."""
    return f"{predictions_root(namespace)}/corpus={run.corpus}/task={run.task}/model={run.model}"


def batches_folder(namespace: str, model: str) -> str:
    """What a batch engine must not forget of the batches that a model's provider has."""
    return f"{namespace}/batches/{model}"


def leases_root(namespace: str) -> str:
    """The folder above every lease."""
    return f"{namespace}/leases"


def lease_folder(namespace: str, what: str) -> str:
    """Where a writer's flag stands: one writer at a time for a model of a namespace, or for a job that is named so."""
    return f"{leases_root(namespace)}/{what}"


def writes(model: str, namespace: str) -> str:
    """What a model's lease is on, in words."""
    return f"model {model} in namespace {namespace}"


def events_folder(namespace: str) -> str:
    """What went wrong while a namespace was written."""
    return f"{namespace}/events"


def of_model(key: str, model: str) -> bool:
    """Whether a part's key belongs to a model."""
    return f"/model={model}/" in key


def prompts_folder(run: Run) -> str:
    """The folder of a corpus's prompts by one template version, shared by models, seeds and namespaces."""
    return f"prompts/{run.corpus}/{re.sub(r'[^A-Za-z0-9/._-]', '-', run.template_version)}"
