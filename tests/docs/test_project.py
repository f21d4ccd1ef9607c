"""What people and machines read of the project besides its pages: version, citation, workflow, hooks."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import yaml

import genbayes

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def read_yaml(name: str) -> dict[Any, Any]:
    content = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


CITATION = read_yaml("CITATION.cff")


def test_the_version_stands_in_one_place_and_all_others_agree() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/genbayes/__init__.py"
    assert CITATION["version"] == genbayes.__version__
    said = subprocess.check_output([sys.executable, "-m", "genbayes", "--version"], text=True)
    assert said == f"genbayes {genbayes.__version__}\n"


def test_the_citation_has_what_the_format_requires_and_names_the_paper() -> None:
    assert {"cff-version", "message", "title", "authors"} <= set(CITATION)
    assert CITATION["license"] == PROJECT["project"]["license"]
    ours, theirs = ({author["name"] for author in each["authors"]} for each in (CITATION, PROJECT["project"]))
    assert ours == theirs
    (paper,) = CITATION["references"]
    assert {"type", "title", "authors"} <= set(paper)
    assert [author["family-names"] for author in paper["authors"]] == ["Polson", "Sokolov"]
    told = " ".join((ROOT / "docs" / "index.md").read_text(encoding="utf-8").split())
    assert f"*{paper['title']}* ({paper['year']})" in told


def test_the_workflow_runs_the_tests_on_two_versions_of_python() -> None:
    job = read_yaml(".github/workflows/test.yml")["jobs"]["test"]
    versions = job["strategy"]["matrix"]["python-version"]
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert len(versions) == 2
    assert min(versions, key=lambda version: [int(part) for part in version.split(".")]) == oldest
    assert any(step.get("run", "").startswith("make test") for step in job["steps"])


def test_hooks_are_local_and_call_what_make_has_installed() -> None:
    (repo,) = read_yaml(".pre-commit-config.yaml")["repos"]
    assert repo["repo"] == "local"
    development = {re.match(r"[\w-]+", line)[0] for line in PROJECT["project"]["optional-dependencies"]["dev"]}
    for hook in repo["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].split()[0].removeprefix(".venv/bin/") in development


def test_what_builds_the_package_is_pinned() -> None:
    for name in ("pyproject.toml", "benchmarks/pyproject.toml"):
        (builder,) = tomllib.loads((ROOT / name).read_text(encoding="utf-8"))["build-system"]["requires"]
        assert re.fullmatch(r"hatchling==[\d.]+", builder)


def test_bounds_on_new_major_versions_are_where_the_comment_says() -> None:
    bounded = {re.match(r"[\w-]+", line)[0] for line in PROJECT["project"]["dependencies"] if "<" in line}
    assert bounded == {"numpy", "pandas", "scikit-learn", "torch", "safetensors"}
