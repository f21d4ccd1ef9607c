"""How easy the source is to walk through: sizes, headers, what one call runs through, what to read for three questions.

Sizes are read with `ast`, walks are traced while small fixed problems run on one thread. `make check` prints the table;
no number is a gate. Another tree is measured by its own interpreter: `OTHER/.venv/bin/python tools/house.py --root
OTHER`. `--functions PATTERN` lists the functions that ran, with their calls, in files whose path contains PATTERN (""
for all), so that one sees which hops carry nothing.

What is counted:
- header of a file: docstring, imports, `if TYPE_CHECKING`, `__all__`, up to the first other statement;
- functions executed: named functions and methods of the package; no lambdas, comprehensions, modules or class bodies;
- layers: 1 and 2 are the files directly in the package, 3 and 4 its lowest folders (LOW_FOLDERS);
- files to read for a question: those above layer 4 of which the answer executes at least 3 functions or 5 lines; for
  the choice of AutoSurrogate without what happens inside the models that it tries, for `tell` with all its outcomes;
- a model is registered where code names its class, or has its command-line name as a string, outside of the file that
  defines it and of `__init__` files.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

PACKAGE = "genbayes"
HERE = Path(__file__).resolve().parents[1]
HIGH_FILES = ("optimise.py",)  # of the package itself, yet above layer 2
LOW_FOLDERS = ("metrics", "plotting", "data", "persistence", "distribution")  # layers 3 and 4
FEWEST_FUNCTIONS, FEWEST_LINES = 3, 5  # executed in a file that a reader has to open
MOST_FILE, MOST_FUNCTION = 500, 60  # lines
MODELS = {  # class, and its name on the command line
    "HeteroskedasticGP": "het-gp",
    "ModularJumpGP": "jump-gp",
    "SparseGP": "sparse-gp",
    "BoostedQuantiles": "boosted",
}


# ---------------------------------------------------------------------------------------------------------- by `ast`


@dataclass
class Shape:
    """What the text of some Python files says.

    Attributes:
        n_files, n_lines, n_header: Files, their lines, lines that are header.
        n_any_arguments, n_any_results: Arguments and results annotated plain `Any`.
        long_files, long_functions: "path (lines)" of those past the limits; docstrings of functions not counted.
    """

    n_files: int = 0
    n_lines: int = 0
    n_header: int = 0
    n_any_arguments: int = 0
    n_any_results: int = 0
    long_files: list[str] = field(default_factory=list)
    long_functions: list[str] = field(default_factory=list)

    @property
    def header_share(self) -> float:
        """Share of lines that are header."""
        return self.n_header / max(1, self.n_lines)


def measure_shape(folder: Path) -> Shape:
    """The shape of all Python files below a folder."""
    shape = Shape()
    for path in sorted(folder.rglob("*.py")):
        text, name = path.read_text(), path.relative_to(folder).as_posix()
        tree, n = ast.parse(text), text.count("\n")
        shape.n_files += 1
        shape.n_lines += n
        shape.n_header += header_lines(tree)
        if n > MOST_FILE:
            shape.long_files.append(f"{name} ({n})")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                shape.n_any_arguments += sum(is_any(each.annotation) for each in arguments_of(node))
                shape.n_any_results += is_any(node.returns)
                if (length := code_lines(node)) > MOST_FUNCTION:
                    shape.long_functions.append(f"{name}:{node.lineno} {node.name} ({length})")
    return shape


def header_lines(tree: ast.Module) -> int:
    """Last line of the leading docstring, imports, ifs and `__all__`."""
    last = 0
    for node in tree.body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_all = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
        if not (isinstance(node, ast.Import | ast.ImportFrom | ast.If) or is_docstring or is_all):
            break
        last = node.end_lineno or last
    return last


def arguments_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    """All arguments of a function."""
    given = node.args
    starred = [each for each in (given.vararg, given.kwarg) if each is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *starred]


def is_any(annotation: ast.expr | None) -> bool:
    """Whether an annotation is exactly `Any`."""
    return annotation is not None and ast.unparse(annotation).strip("'\"") in ("Any", "typing.Any")


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring."""
    n = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node, clean=False) is not None:
        n -= (first.end_lineno or first.lineno) - first.lineno + 1
    return n


def mentions(folder: Path, words: set[str]) -> list[str]:
    """Files whose code has one of some words as a name or in a string that is neither prose nor docstring."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text())
        if path.name != "__init__.py" and words & set(words_of(tree)):
            found.append(path.relative_to(folder).as_posix())
    return found


def words_of(tree: ast.Module) -> Iterator[str]:
    """Names, attributes, imported names, and strings without spaces, whole and by their parts ("module:Class")."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            yield from re.findall(r"[\w-]+", node.value)


def registrations(package: Path) -> dict[str, list[str]]:
    """For each model, the files that name it, but for the one that defines its class."""
    found = {}
    for model, name in MODELS.items():
        definition = re.compile(rf"^class {model}\b", re.MULTILINE)
        files = mentions(package, {model, name})
        found[model] = [file for file in files if not definition.search((package / file).read_text())]
    return found


# --------------------------------------------------------------------------------------------------------- by a trace


class Walk:
    """Context that notes which functions and lines of the package run.

    Args:
        package: Folder of the package.
        chooser: An estimator: what others than it do, called by it, is not noted.
    """

    def __init__(self, package: Path, chooser: Any = None) -> None:
        self.calls: Counter[CodeType] = Counter()
        self.lines: defaultdict[str, set[int]] = defaultdict(set)
        self._package, self._chooser = f"{package}{os.sep}", chooser
        self._asleep = threading.local()

    def __enter__(self) -> Walk:
        threading.settrace(self._on_call)
        sys.settrace(self._on_call)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(self._package) or getattr(self._asleep, "on", False):
            return None
        if code.co_name == "<module>" or self._is_other(frame):
            self._asleep.on = True
            return self._until_return
        if code.co_flags & CO_OPTIMIZED and not code.co_name.startswith("<"):
            self.calls[code] += 1
        return self._on_line

    def _on_line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.lines[frame.f_code.co_filename].add(frame.f_lineno)
        return self._on_line

    def _until_return(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return":
            self._asleep.on = False
        return self._until_return

    def _is_other(self, frame: FrameType) -> bool:
        if self._chooser is None or frame.f_code.co_varnames[:1] != ("self",):
            return False
        owner = frame.f_locals.get("self")
        return hasattr(owner, "get_params") and owner is not self._chooser

    @property
    def functions(self) -> set[str]:
        """Every function that ran, as "path qualified.name"."""
        return {f"{self.path(code)} {code.co_qualname}" for code in self.calls}

    @property
    def files(self) -> dict[str, tuple[int, int]]:
        """Functions and lines that ran, by file."""
        count = Counter(self.path(code) for code in self.calls)
        return {file: (n, len(self.lines[self._package + file])) for file, n in sorted(count.items())}

    def path(self, code: CodeType) -> str:
        """File of some code, from the package on."""
        return Path(code.co_filename.removeprefix(self._package)).as_posix()


def is_above(file: str, layer: int) -> bool:
    """Whether a file stands above layer 2, or above layer 4."""
    if "/" not in file:
        return file in HIGH_FILES
    return layer == 2 or file.split("/")[0] not in LOW_FOLDERS


def to_read(walk: Walk, fewest_functions: int = FEWEST_FUNCTIONS, fewest_lines: int = FEWEST_LINES) -> list[str]:
    """Files that answer the question of a walk."""
    return [
        file
        for file, (n_functions, n_lines) in walk.files.items()
        if is_above(file, 4) and (n_functions >= fewest_functions or n_lines >= fewest_lines)
    ]


def trace_walks(package: Path) -> dict[str, Walk]:
    """Fit and predict the network, ask and tell, let AutoSurrogate choose."""
    import numpy as np
    import torch

    from genbayes import AutoSurrogate, BoundaryFeatures, Campaign, QuantileSurrogate

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    y = np.sin(5 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(60)
    jumping = np.where(X[:, 0] > 0.5, 5 + y, y)
    walks: dict[str, Walk] = {}

    def note(name: str, action: Callable[[], Any], chooser: Any = None) -> Any:
        with walks.setdefault(name, Walk(package, chooser)), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return action()

    model = QuantileSurrogate(n_epochs=5, random_state=0)
    note("fit", lambda: model.fit(X, y))
    note("predict_distribution", lambda: model.predict_distribution(X))
    with tempfile.TemporaryDirectory() as folder:
        space = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
        campaign = Campaign.create(f"sqlite:///{folder}/a.db", "a", space, n_initial=8, random_state=0)
        for trial in campaign.ask(8):
            campaign.tell(trial, y=float(np.sin(5 * trial.x["a"])))
        for _ in range(2):  # the model learns, then goes on learning
            trial = note("ask", campaign.ask)
            note("tell", lambda trial=trial: campaign.tell(trial, y=0.5))
        other = campaign.ask()
        for which, value in [(trial, 0.5), (trial, 0.7), (other, np.nan), (other, 0.5)]:  # again, repeat, failed, late
            note("tell, all outcomes", lambda which=which, value=value: campaign.tell(which, y=value))
    for recipe in ("fast", "paper"):
        every = {"features": BoundaryFeatures(), "categorical": [2], "missing": "regime", "y_bounds": (-9.0, None)}
        wide = QuantileSurrogate(recipe=recipe, n_members=2, prior_scale=1.0, n_epochs=3, random_state=0, **every)
        failing = np.where(X[:, 1] > 0.8, np.nan, jumping)
        note("fit, all options", lambda wide=wide, y=failing: wide.fit(np.c_[X, X[:, 1] > 0.4], y))
    chooser = AutoSurrogate(candidates=["gp", "gp-smooth", "het-gp"], random_state=0)
    note("choose", lambda: chooser.fit(X, y), chooser)
    return walks


# -------------------------------------------------------------------------------------------------------------- report


def count_architecture_ids(root: Path) -> int | None:
    """Test ids of the architecture, as pytest collects them; None where it cannot."""
    file = root / "tests" / "test_architecture.py"
    if not file.exists():
        return None
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", str(file)]
    told = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return sum("::" in line for line in told.stdout.splitlines()) or None


def measure(root: Path, walks: dict[str, Walk]) -> dict[str, Any]:
    """All numbers, ready for JSON."""
    package = root / "src" / PACKAGE
    shape, tests = measure_shape(package), measure_shape(root / "tests")
    found: dict[str, Any] = {
        "files": shape.n_files,
        "lines": shape.n_lines,
        "header_share": round(shape.header_share, 4),
        "any_arguments": shape.n_any_arguments,
        "any_results": shape.n_any_results,
        "long_files": shape.long_files,
        "long_functions": shape.long_functions,
        "registered": registrations(package),
        "test_files": tests.n_files,
        "test_lines": tests.n_lines,
        "architecture_ids": count_architecture_ids(root),
    }
    if walks:
        called = {name: walks[name] for name in ("fit", "predict_distribution", "ask", "tell")}
        questions = {"train": "fit", "choose": "choose", "tell": "tell, all outcomes"}
        found |= {
            "fit_files": [file for file in walks["fit"].files if is_above(file, 2)],
            "fit_files_all_options": [file for file in walks["fit, all options"].files if is_above(file, 2)],
            "functions": {name: len(walk.functions) for name, walk in called.items()},
            "functions_in_all": len(set.union(*(walk.functions for walk in called.values()))),
            "to_read": {question: to_read(walks[name]) for question, name in questions.items()},
            "touched": {question: to_read(walks[name], 1) for question, name in questions.items()},
        }
    return found


def count_files(files: list[str]) -> str:
    """Files and their folders in words."""
    return f"{len(files)} in {len({Path(file).parent for file in files})} folders"


def table(found: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Question, number, aim."""
    yield "files, lines in src", f"{found['files']}, {found['lines']:,}", "160, 26,000"
    if "functions" in found:
        yield "files that fit of the network runs through, above layer 2", count_files(found["fit_files"]), "25"
        yield "  with all its options", count_files(found["fit_files_all_options"]), ""
        each = ", ".join(f"{name} {n}" for name, n in found["functions"].items())
        yield "distinct functions executed", f"{found['functions_in_all']} ({each})", "a quarter fewer"
        for key, question, aim in [("to_read", "files to read", "8 / 6 / 5"), ("touched", "  touched at all", "")]:
            numbers = " / ".join(str(len(files)) for files in found[key].values())
            yield f"{question}: training / AutoSurrogate's choice / tell", numbers, aim
    yield "lines that are file header", f"{found['header_share']:.1%}", "13%"
    places = {model: len(files) for model, files in found["registered"].items()}
    yield "places in src where a model is registered", f"{max(places.values())}", "1"
    total = found["any_arguments"] + found["any_results"]
    yield "arguments, results typed plain Any", f"{found['any_arguments']}, {found['any_results']} ({total})", "80"
    yield "test files, lines", f"{found['test_files']}, {found['test_lines']:,}", "16,000 lines"
    yield "test ids that are architecture", str(found["architecture_ids"] or "not known"), ""
    yield f"source files past {MOST_FILE} lines", str(len(found["long_files"])), "0"
    yield f"functions past {MOST_FUNCTION} lines", str(len(found["long_functions"])), "0"


def print_table(found: dict[str, Any]) -> None:
    """The table, and below it the files behind its numbers."""
    rows = [("question", "now", "at most"), *table(found)]
    width = [max(len(row[j]) for row in rows) for j in range(3)]
    for row in rows:
        print("  ".join(cell.ljust(width[j]) for j, cell in enumerate(row)).rstrip())
    lists = {f"{model} is named in": files for model, files in found["registered"].items()}
    if "to_read" in found:
        titles = {"train": "How is the network trained?", "choose": "How does AutoSurrogate choose?"}
        titles["tell"] = "What does tell do?"
        lists |= {titles[name]: files for name, files in found["to_read"].items()}
        lists["With all its options fit runs through"] = found["fit_files_all_options"]
    lists |= {f"past {MOST_FILE} lines": found["long_files"], f"past {MOST_FUNCTION} lines": found["long_functions"]}
    for title, files in lists.items():
        if files:
            print(f"\n{title} ({len(files)}): {', '.join(files)}")


def print_functions(walks: dict[str, Walk], pattern: str) -> None:
    """Functions that ran, by file, with their calls in each walk."""
    names = list(walks)
    print(f"{'calls: ' + ' / '.join(names)}")
    rows: defaultdict[tuple[str, int, str], list[int]] = defaultdict(lambda: [0] * len(names))
    for i, name in enumerate(names):
        for code, n in walks[name].calls.items():
            rows[walks[name].path(code), code.co_firstlineno, code.co_qualname][i] = n
    file = ""
    for (path, line, name), calls in sorted(rows.items()):
        if pattern not in path:
            continue
        if path != file:
            file = path
            print(f"\n{path}")
        print(f"  {line:4}  {name:56} {' / '.join(str(n) if n else '-' for n in calls)}")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=HERE, metavar="DIR", help="the tree to measure")
    parser.add_argument("--no-trace", action="store_true", help="only what `ast` tells")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--functions", metavar="PATTERN", help="list the functions that ran, with their calls")
    given = parser.parse_args()
    root = given.root.resolve()
    os.environ.update({"OMP_NUM_THREADS": "1", "PYTHONPATH": str(root / "src")})
    sys.path.insert(0, str(root / "src"))
    walks = {} if given.no_trace else trace_walks(root / "src" / PACKAGE)
    if given.functions is not None:
        print_functions(walks, given.functions)
        return 0
    found = measure(root, walks)
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        print_table(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
