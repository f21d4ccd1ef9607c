"""Every example in the README and in docs runs, every result it shows is checked, every link leads somewhere.

The python blocks of a page share one namespace and run in order, in an empty folder. A comment `# -> text` behind a
statement, or on the lines below it, is what the statement prints, or else the repr of its value; `...` stands for
what varies. A line `$ genbayes ...` of a console block runs through the installed entry point, and the lines below it
are what it prints; there a number stands for any number, since other machines round otherwise.
"""

import ast
import doctest
import importlib
import io
import re
import shlex
import sys
import tokenize
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from genbayes.models.registry import OURS

DOCS = Path(__file__).parents[2] / "docs"
README, CONTRIBUTING = DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"
PAGES = [README, CONTRIBUTING, *sorted(DOCS.rglob("*.md"))]
ARROW = "# -> "
VARIES = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BAD_INPUT = 2


def name(page: Path) -> str:
    return page.relative_to(DOCS.parent).as_posix()


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of the page on which the text begins."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    lines = text_of(page).splitlines()
    start, language = 0, ""
    for number, line in enumerate(lines, start=1):
        if start and line.strip() == "```":
            yield Block(language, "\n".join(lines[start : number - 1]) + "\n", start + 1)
            start = 0
        elif not start and line.lstrip().startswith("```"):
            start, language = number, line.strip().removeprefix("```")
    assert not start, f"{name(page)} must close the block of line {start}"


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose_of(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", text_of(page), flags=re.MULTILINE | re.DOTALL)


def agrees(want: str, got: str) -> bool:
    return doctest.OutputChecker().check_output(want.strip() + "\n", got.strip() + "\n", VARIES)


# python blocks


def shown_results(block: Block) -> dict[int, str]:
    """Results behind arrows, by the line of the block on which their statement ends."""
    results: dict[int, str] = {}
    last_code = last_arrow = 0
    for token in tokenize.generate_tokens(io.StringIO(block.text).readline):
        line = token.start[0]
        if token.type == tokenize.COMMENT and token.string.startswith(ARROW):
            results[last_code] = token.string.removeprefix(ARROW)
            last_arrow = line
        elif token.type == tokenize.COMMENT and line == last_arrow + 1 and last_code < line:
            results[last_code] += "\n" + token.string.removeprefix("#")
            last_arrow = line
        elif token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            last_code = token.end[0]
    return results


def run_python(block: Block, namespace: dict[str, Any], page: Path) -> None:
    results = shown_results(block)
    for statement in ast.parse(block.text).body:
        want = results.pop(statement.end_lineno or 0, None)
        ast.increment_lineno(statement, block.line - 1)  # a traceback names the line of the page
        printed, value = io.StringIO(), None
        with redirect_stdout(printed):
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), str(page), "eval"), namespace)
            else:
                exec(compile(ast.Module([statement], []), str(page), "exec"), namespace)
        if want is not None:
            got = printed.getvalue() or repr(value)
            assert agrees(want, got), f"{name(page)}, line {statement.end_lineno} must show\n{got}\nbut shows\n{want}"
    assert not results, f"{name(page)}, block of line {block.line}: results of no statement: {results}"


# console blocks


def commands(block: Block) -> Iterator[tuple[list[str], str]]:
    """The genbayes commands of a block, each with the output shown below it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        words, _, output = part.partition("\n")
        if words.startswith("genbayes"):
            yield shlex.split(words)[1:], output


def run_command(words: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Exit code of the installed command, and all it prints in the order of printing."""
    (command,) = entry_points(group="console_scripts", name="genbayes")
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "argv", ["genbayes", *words])
    with redirect_stdout(terminal), redirect_stderr(terminal), pytest.raises(SystemExit) as left:
        command.load()()
    return int(left.value.code or 0), terminal.getvalue()


def without_numbers(text: str) -> str:
    text = re.sub(r"\d+(\.\d+)?(e[-+]?\d+)?", "0", text)
    return re.sub(r"[▁▂▃▄▅▆▇█]+", "▁", re.sub(r"─+", "─", text))


def run_console(block: Block, page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for words, want in commands(block):
        code, got = run_command(words, monkeypatch)
        asked = f"{name(page)}, genbayes {' '.join(words)}"
        assert code == (BAD_INPUT if re.search(r"^Error: ", want, re.MULTILINE) else 0), f"{asked} said\n{got}"
        if want.strip():
            same = agrees(without_numbers(want), without_numbers(got))
            assert same, f"{asked} must show\n{got}\nbut shows\n{want}"


# the pages


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to run a page in, pictures drawn without a screen and terminals 80 characters wide."""
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for variable in ("FORCE_COLOR", "GENBAYES_DEBUG"):
        monkeypatch.delenv(variable, raising=False)
    plt.switch_backend("Agg")
    yield tmp_path
    plt.close("all")


def write_tables_of_a_reader(folder: Path) -> None:
    """The files that the README takes its reader to have; a few runs only, so that its commands are quick."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=45)
    table = pd.DataFrame({"x": x, "y": np.sin(6 * x) + 0.1 * rng.standard_normal(45)})
    table[:30].to_csv(folder / "runs.csv", index=False)
    table[30:].to_csv(folder / "held_out.csv", index=False)
    table[["x"]][30:].to_csv(folder / "new.csv", index=False)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_examples_of_a_page_run_and_show_what_they_give(page: Path, empty_folder: Path, monkeypatch) -> None:
    if page == README:
        write_tables_of_a_reader(empty_folder)
        monkeypatch.setattr("genbayes.models.network.plans.MOST_EPOCHS", 100)  # it shows no results that depend on it
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        assert block.language in ("python", "console", "text")  # formulas and layouts are text
        if block.language == "python":
            run_python(block, namespace, page)
        elif block.language == "console":
            run_console(block, page, monkeypatch)


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings: lower case, no punctuation, hyphens for spaces."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> set[str]:
    found = re.findall(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)", prose_of(page))
    return {link for link in found if not re.match(r"[a-z]+:", link)}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    lost = []
    for link in sorted(links(page)):
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert not lost, f"{name(page)} must link to what exists, got {lost}"


def test_every_page_can_be_reached_from_the_index() -> None:
    reached, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or not page.exists():
            continue
        reached.add(page)
        places = [link.partition("#")[0] for link in links(page)]
        waiting += [(page.parent / place).resolve() for place in places if place.endswith(".md")]
    assert set(PAGES) - {README} <= reached


ROOTS = [DOCS.parent, *(DOCS.parent / place for place in ("src", "src/genbayes", "benchmarks/src"))]
ROOTS.append(ROOTS[-1] / "genbayes_bench")
FILES = {file.name for root in ROOTS[1:4] for file in root.rglob("*.py")}


def files_named_by(page: Path) -> Iterator[str]:
    """Files and folders of the source as pages name them: `models/gp/exact.py`, or `models/gp/`: `exact.py`."""
    folder = ""
    fenced = "".join(block.text for block in blocks(page))
    for file, colon in re.findall(r"`([\w/]+(?:/|\.py))`(:?)", prose_of(page)):
        if file not in fenced:  # else an example writes it
            yield file if "/" in file else f"{folder}{file}"
        folder = file if colon else folder if "/" not in file else ""


def exists(file: str) -> bool:
    return any((root / file).exists() for root in ROOTS) if "/" in file else file in FILES


OF_THE_SOURCE = [CONTRIBUTING, DOCS / "architecture.md"] + [page for page in PAGES if page.parent.parent == DOCS]


@pytest.mark.parametrize("page", OF_THE_SOURCE, ids=name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    lost = [file for file in files_named_by(page) if not exists(file)]
    assert not lost, f"{name(page)} must name files that exist, got {lost}"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """A script of docs as a module, by its name."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module


def test_the_picture_of_the_layers_is_up_to_date(script) -> None:
    assert text_of(DOCS / "images" / "layers.svg") == script("build_layers").build(), "run python docs/build_layers.py"


def test_the_api_page_is_the_code_and_the_table_of_models_the_registry(script) -> None:
    builder, models = script("build_api"), text_of(DOCS / "models" / "index.md")
    assert text_of(DOCS / "api.md") == builder.build(), "run python docs/build_api.py"
    assert models == builder.build_models(models), "run python docs/build_api.py"
    assert all(f"| `{model.name}` |" in models for model in OURS)


# the checks themselves


@pytest.mark.parametrize(
    ("text", "noticed"),
    [
        ("1 + 1  # -> 3\n", "must show"),
        ("print(1 + 1)\n# -> 3\n", "must show"),
        ("print('a b')\n# -> a\n#    c\n", "must show"),
        ("x = 2  # -> 2\n", "must show"),
        ("(1 +\n 1)  # -> 3\n", "must show"),
        ("# -> 3\n", "results of no statement"),
        ("if True:\n    2  # -> 2\n    3\n", "results of no statement"),
    ],
)
def test_a_result_that_is_not_so_or_of_no_statement_is_noticed(text: str, noticed: str) -> None:
    with pytest.raises(AssertionError, match=noticed):
        run_python(Block("python", text, 1), {}, DOCS / "index.md")


@pytest.mark.parametrize("text", ["[1,\n 2]  # -> [1, ...]\n", "print(2)\n# -> 2\n", "1  # one\n# two\n"])
def test_a_result_that_is_so_passes(text: str) -> None:
    run_python(Block("python", text, 1), {}, DOCS / "index.md")


@pytest.mark.parametrize("text", ["$ genbayes --version\nbayesgen 0.1\n", "$ genbayes --vresion\n"])
def test_a_command_that_says_something_else_is_noticed(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="genbayes --v"):
        run_console(Block("console", text, 1), DOCS / "index.md", monkeypatch)
