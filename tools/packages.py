"""What genbayes is installed with: the lock file of the tested set, and the bill of materials of a release.

    python tools/packages.py lock                       requirements.lock: every package of the tested set, `make lock`
    python tools/packages.py sbom -o sbom.cdx.json      CycloneDX 1.6, what a user installs, `make sbom`

Both are read off the metadata of what is installed in this environment, following requirements from `genbayes` on:
no index is asked, and neither an index's address nor a path of this machine is written. A local label of a version
(`2.13.0+cpu`) is left out, since only the index that had it knows it. The lock pins versions, not hashes: a wheel's
hash is not among the metadata of what was installed from it.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tomllib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
OURS = {"genbayes": ".", "genbayes-bench": "benchmarks"}  # and where their pyproject.toml stands


def project(name: str) -> dict[str, Any]:
    """The project table of a package of ours."""
    found: dict[str, Any] = tomllib.loads((ROOT / OURS[name] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


EXTRAS = [extra for extra in project("genbayes")["optional-dependencies"] if extra != "dev"]  # for users
TESTED = (f"genbayes[dev,{','.join(EXTRAS)}]", "genbayes-bench[rivals]")  # what `make test` installs


@dataclass
class Package:
    """An installed distribution and the names of those it needs here."""

    name: str
    version: str
    summary: str
    license: dict[str, Any]
    needs: set[str] = field(default_factory=set)


def reachable(starts: tuple[str, ...]) -> dict[str, Package]:
    """Installed packages that requirements lead to, by name; what is not installed is left out unless it is a start."""
    found: dict[str, Package] = {}
    done: set[tuple[str, str]] = set()
    waiting = [Requirement(start) for start in starts]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        for extra in ("", *requirement.extras):
            if (name, extra) in done:
                continue
            done.add((name, extra))
            package = found.get(name) or _installed(name, must=requirement.name in str(starts))
            if package is None:
                continue
            found[name] = package
            for needed in _requirements(name, extra):
                package.needs.add(canonicalize_name(needed.name))
                waiting.append(needed)
    for package in found.values():
        package.needs &= set(found)
    return found


def _installed(name: str, must: bool) -> Package | None:
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        if must:
            raise SystemExit(f"{name} must be installed, got none; run make first") from None
        return None
    about = distribution.metadata
    return Package(name, distribution.version.partition("+")[0], about.get("Summary") or "", _license(about))


def _license(about: Any) -> dict[str, Any]:
    """An SPDX expression where the metadata have one, else the name in words; empty if there is none."""
    if about.get("License-Expression"):
        return {"expression": str(about["License-Expression"])}
    named = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or [] if line.startswith("License ::")]
    words = ", ".join(sorted(set(named))) or str(about.get("License") or "").strip().partition("\n")[0]
    return {"license": {"name": words}} if words else {}


def _requirements(name: str, extra: str) -> Iterator[Requirement]:
    """What a package requires in this environment, with one of its extras or with none."""
    if name in OURS:  # read off the source, for what is installed of us may be older
        asked = project(name)
        ours = asked.get("optional-dependencies", {}).get(extra, []) if extra else asked["dependencies"]
        yield from map(Requirement, ours)
        return
    for line in metadata.requires(name) or []:
        requirement = Requirement(line)
        if requirement.marker is None:
            if not extra:
                yield requirement
        elif requirement.marker.evaluate({"extra": extra}) and (
            not extra or not requirement.marker.evaluate({"extra": ""})
        ):
            yield requirement


def lock() -> str:
    """Every package of the tested set but our own, one pinned version a line."""
    packages = reachable(TESTED)
    lines = [
        f"# The tested set, written by make lock: Python {platform.python_version()}, {platform.system()}.",
        "# pip install -r requirements.lock, then pip install --no-deps -e . -e benchmarks",
    ]
    for name in sorted(set(packages) - set(OURS)):
        of = sorted(other.name for other in packages.values() if name in other.needs)
        lines.append(f"{name}=={packages[name].version}  # of {', '.join(of)}")
    return "\n".join(lines) + "\n"


def bill_of_materials() -> dict[str, Any]:
    """What a user installs, as CycloneDX 1.6: what genbayes needs, and what its extras add as optional."""
    needed, everything = reachable(("genbayes",)), reachable((f"genbayes[{','.join(EXTRAS)}]",))
    ours = everything["genbayes"]
    components = [_component(p, p.name in needed) for p in sorted(everything.values(), key=lambda p: p.name)]
    content = {
        "metadata": {"component": _component(ours, None)},
        "components": [each for each in components if each["name"] != "genbayes"],
        "dependencies": [
            {"ref": _reference(package), "dependsOn": sorted(_reference(everything[name]) for name in package.needs)}
            for package in sorted(everything.values(), key=lambda p: p.name)
        ],
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))  # the same for the same content
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{number}", "version": 1}
    return head | content


def _reference(package: Package) -> str:
    return f"pkg:pypi/{package.name}@{package.version}"


def _component(package: Package, is_needed: bool | None) -> dict[str, Any]:
    """A component; `is_needed` says whether it is required, None for the software itself."""
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": _reference(package),
        "name": package.name,
        "version": package.version,
        "purl": _reference(package),
    }
    if package.summary:
        found["description"] = package.summary
    if package.license:
        found["licenses"] = [package.license]
    if is_needed is not None:
        found["scope"] = "required" if is_needed else "optional"
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["lock", "sbom"])
    parser.add_argument("--output", "-o", type=Path, help="file to write")
    args = parser.parse_args()
    if args.what == "lock":
        output, text = args.output or ROOT / "requirements.lock", lock()
    else:
        output, text = args.output or Path("sbom.cdx.json"), json.dumps(bill_of_materials(), indent=1) + "\n"
    output.write_text(text, encoding="utf-8")
    print(f"{output.name}: {text.count('==') or text.count('bom-ref')} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
