"""Which tests reach which mutants: one run of the suite on a copy whose sites report that they are reached."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutation.copies import PROBE, copy_project, environment
from mutation.sites import Change, Site, changes_of

SUITE = ("tests", "src")
IRRELEVANT = (
    "tests/bench",
    "tests/benchmarks",
    "tests/baselines/r",
    "tests/docs",
    "tests/test_architecture.py",
    "tests/test_lazy.py",
    "tests/campaign/test_storm.py",
    "tests/campaign/test_storm.py",
    "src/genbayes/benchmarks",
)


@dataclass(frozen=True)
class Reach:
    """A test: the mutants it reaches, how long it took and whether it passed without any."""

    test: str
    mutants: frozenset[str]
    seconds: float
    passed: bool


def map_tests(root: Path, sites: Mapping[str, Site], folder: Path, target: Path, jobs: int) -> None:
    """Run the suite on a copy with probes; one line for each test in `target`."""
    copy = copy_project(root, folder / "probed")
    names = sorted(sites)
    place_probes(copy, {number: sites[name] for number, name in enumerate(names)})
    (copy / "src/_mutant_probe.py").write_text(PROBE)
    lines = folder / "reached"
    lines.mkdir(exist_ok=True)
    for old in lines.iterdir():
        old.unlink()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mutation.plugin", "-p", "no:cacheprovider"]
    command += [
        "-n",
        str(jobs),
        "--dist",
        "loadscope",
        "-k",
        "not postgres",
        *(f"--ignore={each}" for each in IRRELEVANT),
    ]
    suite = [each for each in SUITE if (copy / each).exists()]
    with (folder / "map.log").open("w") as log:
        subprocess.run(
            [*command, *suite],
            cwd=copy,
            env={**environment(copy), "MUTANT_REACHED": str(lines)},
            stdout=log,
            stderr=log,
            check=False,
        )
    found = [json.loads(line) for path in sorted(lines.glob("*.jsonl")) for line in path.read_text().splitlines()]
    if not found:
        raise SystemExit(f"no test was run; see {folder / 'map.log'}")
    reached = [{**each, "mutants": [names[number] for number in each["mutants"]]} for each in found]
    target.write_text("".join(json.dumps(each) + "\n" for each in reached))


def read_map(path: Path) -> list[Reach]:
    """Tests that passed and reach a mutant."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    every = [Reach(each["test"], frozenset(each["mutants"]), each["seconds"], each["passed"]) for each in found]
    return [each for each in every if each.passed and each.mutants]


def place_probes(copy: Path, sites: Mapping[int, Site]) -> None:
    """Put probes in front of the sites; for a constant of a module or class, in front of what reads it."""
    trees = {path: ast.parse(path.read_text()) for path in sorted((copy / "src/genbayes").rglob("*.py"))}
    probes: dict[ast.stmt, set[int]] = {}
    for number, site in sites.items():
        path = copy / site.mutant.file
        change = changes_of(trees[path])[site.number]
        for stmt in _watched(change, trees[path], trees.values()):
            probes.setdefault(stmt, set()).add(number)
    for path, tree in trees.items():
        if _insert(tree, probes):
            path.write_text(ast.unparse(ast.fix_missing_locations(tree)))


def _watched(change: Change, home: ast.Module, trees: Iterable[ast.Module]) -> list[ast.stmt]:
    """Statements whose execution makes a change felt."""
    if isinstance(change.owner, ast.FunctionDef):
        return [_first(change.owner)]
    inside = {id(node) for tree in (home,) for each in _functions(tree) for node in ast.walk(each)}
    if id(change.owner) in inside:
        return [change.owner]
    names = {
        node.id for node in ast.walk(change.owner) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    readers = [stmt for tree in trees for each in _functions(tree) for stmt in _statements(each) if _reads(stmt, names)]
    return readers or [_first(each) for each in _functions(home)]


def _functions(tree: ast.AST) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _statements(function: ast.FunctionDef) -> list[ast.stmt]:
    return [node for stmt in function.body for node in ast.walk(stmt) if isinstance(node, ast.stmt)]


def _first(function: ast.FunctionDef) -> ast.stmt:
    """The first statement after the docstring."""
    body = function.body
    return body[1] if ast.get_docstring(function) is not None and len(body) > 1 else body[0]


def _reads(stmt: ast.stmt, names: set[str]) -> bool:
    """Whether the head of a statement, its body not counted, reads one of some names."""
    heads = [node for node in ast.iter_child_nodes(stmt) if not isinstance(node, ast.stmt)]
    return any(
        (isinstance(node, ast.Name) and node.id in names) or (isinstance(node, ast.Attribute) and node.attr in names)
        for head in heads
        for node in ast.walk(head)
    )


def _insert(tree: ast.Module, probes: Mapping[ast.stmt, set[int]]) -> bool:
    """Put a call in front of each watched statement; whether there was any."""
    is_changed = False
    for node in list(ast.walk(tree)):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and any(stmt in probes for stmt in body):
                setattr(node, field, _with_probes(body, probes))
                is_changed = True
    if is_changed:
        heading = [stmt for stmt in tree.body if _is_heading(stmt)]
        tree.body[len(heading) : len(heading)] = ast.parse("from _mutant_probe import hit as _mutant_hit").body
    return is_changed


def _with_probes(body: Sequence[ast.stmt], probes: Mapping[ast.stmt, set[int]]) -> list[ast.stmt]:
    new: list[ast.stmt] = []
    for stmt in body:
        if stmt in probes:
            numbers = ", ".join(map(str, sorted(probes[stmt])))
            new += ast.parse(f"_mutant_hit({numbers})").body
        new.append(stmt)
    return new


def _is_heading(stmt: ast.stmt) -> bool:
    """Whether it is the docstring, or an import that has to come first."""
    is_text = isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)
    return is_text or (isinstance(stmt, ast.ImportFrom) and stmt.module == "__future__")
