"""The lock file and the bill of materials: complete, pinned, and without a word of where packages came from."""

import json
import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"^([a-z0-9-]+)==([0-9][0-9a-z.]*)  # of [a-z0-9, -]+$")


def pins(name: str) -> dict[str, str]:
    lines = (line.partition("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    return {canonicalize_name(a): b for a, _, b in (line.partition("==") for line in lines if line)}


@pytest.fixture
def packages(tool):
    return tool("packages")


def test_the_lock_pins_versions_and_names_no_index_and_no_path() -> None:
    lines = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if not line.startswith("#")]
    assert lines
    assert [line for line in lines if not LINE.match(line)] == []


def test_the_lock_has_every_package_that_the_project_asks_for_at_the_version_of_the_constraints(packages) -> None:
    locked, constrained = pins("requirements.lock"), pins("constraints.txt")
    wanted = {r for start in packages.TESTED for r in asked(packages, Requirement(start))}
    assert wanted - set(locked) == set(), "run make lock"
    differ = {n: (v, constrained[n]) for n, v in locked.items() if n in constrained and constrained[n] != v}
    assert differ == {}, "run make lock"


def asked(packages, start: Requirement) -> set[str]:
    name = canonicalize_name(start.name)
    found = {canonicalize_name(r.name) for extra in ("", *start.extras) for r in packages._requirements(name, extra)}
    return found - set(packages.OURS)


def test_the_bill_of_materials_lists_each_package_once_with_its_place_and_what_it_needs(packages) -> None:
    bill = packages.bill_of_materials()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill == packages.bill_of_materials()  # no time and no chance in it
    references = [each["bom-ref"] for each in bill["components"]]
    assert len(set(references)) == len(references)
    scope = {each["name"]: each["scope"] for each in bill["components"]}
    assert (scope["torch"], scope["sympy"], scope["openpyxl"]) == ("required", "required", "optional")
    assert "pytest" not in scope
    known = {*references, bill["metadata"]["component"]["bom-ref"]}
    assert {each["ref"] for each in bill["dependencies"]} == known
    assert {ref for each in bill["dependencies"] for ref in each["dependsOn"]} <= known
    assert not re.search(r"https?://|file:|/(home|root|usr|opt|tmp)/", json.dumps(bill["dependencies"]))
