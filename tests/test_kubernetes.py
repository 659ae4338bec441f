"""manifests/k8s: by the rules of KubeRay's CRDs, of one version with the lock, and without a key."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import ray
import yaml
from typer.main import get_command

from mixgrid import __version__
from mixgrid.cli import app

ROOT = Path(__file__).resolve().parent.parent
K8S = ROOT / "manifests" / "k8s"
FILES = sorted(file.name for file in K8S.glob("*.yaml"))
SCHEMA = json.loads(Path(__file__).with_name("kuberay.json").read_text("utf-8"))


def document(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((K8S / name).read_text("utf-8"))
    return loaded


def job_of(name: str) -> dict[str, Any]:
    """The RayJob's own part, also inside a cron's template."""
    spec: dict[str, Any] = document(name)["spec"]
    job: dict[str, Any] = spec.get("jobTemplate", spec)
    return job


def pods(name: str) -> Iterator[dict[str, Any]]:
    cluster = job_of(name)["rayClusterSpec"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        yield group["template"]["spec"]


@pytest.mark.parametrize("name", FILES)
def test_the_crds_accept_it(name: str) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(document(name))


@pytest.mark.parametrize("place", [("spec", "entrypiont"), ("spec", "rayClusterSpec", "head"), ("spec", "schedule")])
def test_the_crds_would_refuse_a_slip(place: tuple[str, ...]) -> None:
    wrong = inner = document("rayjob.yaml")
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = "x"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(wrong)


def test_there_is_a_job_and_a_nightly_one() -> None:
    assert {document(name)["kind"] for name in FILES} == {"RayJob", "RayCronJob"}


@pytest.mark.parametrize("name", FILES)
def test_its_command_is_one_of_mixgrid_and_names_a_manifest_that_ships(name: str) -> None:
    python, _, module, verb, manifest, option, url = shlex.split(job_of(name)["entrypoint"])
    assert (python, module, option) == ("python", "mixgrid", "--store")
    assert verb in get_command(app).commands  # type: ignore[attr-defined]
    assert url.startswith("s3://")
    assert (ROOT / Path(manifest).relative_to("/home/ray/mixgrid")).is_file()


@pytest.mark.parametrize("name", FILES)
def test_keys_come_from_a_secret_and_none_is_written_down(name: str) -> None:
    for pod in pods(name):
        for container in pod["containers"]:
            assert container["envFrom"] == [{"secretRef": {"name": "mixgrid-keys", "optional": True}}]
            assert "env" not in container
    key = r"(AKIA|ASIA)[A-Z0-9]{12}|[A-Z_]+_(KEY|TOKEN|SECRET)\s*[:=]\s*[\"']?[\w/+]{8,}"
    assert not re.search(key, (K8S / name).read_text("utf-8"))


@pytest.mark.parametrize("name", FILES)
def test_workers_come_when_needed_and_the_dashboard_wants_a_token(name: str) -> None:
    cluster = job_of(name)["rayClusterSpec"]
    assert cluster["authOptions"]["mode"] == "token"
    assert cluster["enableInTreeAutoscaling"]
    assert [group["minReplicas"] for group in cluster["workerGroupSpecs"]] == [0, 0]
    assert {group["groupName"] for group in cluster["workerGroupSpecs"]} == {"cpu", "gpu"}
    assert job_of(name)["shutdownAfterJobFinishes"]


@pytest.mark.parametrize("name", FILES)
def test_versions_are_the_lock_s(name: str) -> None:
    assert job_of(name)["rayClusterSpec"]["rayVersion"] == ray.__version__
    assert {c["image"] for pod in pods(name) for c in pod["containers"]} == {f"mixgrid:{__version__}"}
    image = (K8S / "Dockerfile").read_text("utf-8")
    assert f"FROM rayproject/ray:{ray.__version__}-py311-gpu\n" in image
    assert f"-t mixgrid:{__version__} ." in image


def test_the_image_copies_what_there_is_and_installs_the_gpu_lock() -> None:
    image = (K8S / "Dockerfile").read_text("utf-8")
    copied = [word for line in re.findall(r"^COPY \S+ (.+) /home/\S+$", image, re.MULTILINE) for word in line.split()]
    assert copied
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert "--no-deps -r /home/ray/mixgrid/requirements-gpu.lock" in image
