"""The command line, the pages it writes, and the analyses they show."""

from __future__ import annotations

import contextlib
import html
import io
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frozen.campaigns import SPACE, run_trial
from frozen.data import coded, smooth, write_table
from frozen.items import Values, item
from frozen.models import network
from genbayes import Campaign
from genbayes.analysis import assess, main_effects
from genbayes.baselines import StationaryGP
from genbayes.cli.main import run


def numbers_in(value: Any) -> Iterator[float]:
    """All numbers of nested lists and mappings, mappings by name."""
    if isinstance(value, dict):
        for name in sorted(value):
            yield from numbers_in(value[name])
    elif isinstance(value, list | tuple):
        for each in value:
            yield from numbers_in(each)
    elif isinstance(value, int | float):
        yield float(value)


@item("analysis")
def _() -> Values:
    X, y = coded(80)
    model = StationaryGP(categorical=["gas"], random_state=0).fit(X, y)
    effects = main_effects(model, X)
    scores = assess(model, *coded(60, seed=9)).to_dict()
    found: Values = {f"effect.{e.name}": np.append(e.mean, e.share) for e in effects}
    return found | {"scores": np.array(list(numbers_in(scores)))}


def command(*arguments: str) -> str:
    """What the command line prints, called in this process."""
    printed, before = io.StringIO(), sys.argv
    sys.argv = ["genbayes", *arguments]
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()) as complaints:
            run()
    except SystemExit as left:
        if left.code:
            raise RuntimeError(
                f"genbayes {' '.join(arguments)} left with {left.code}: {complaints.getvalue()}"
            ) from None
    finally:
        sys.argv = before
    return printed.getvalue()


NUMBER = r"[+\-−±]?\d[\d,]*\.?\d*(?:e[+\-−]?\d+)?%?"
NUMERIC_CELL = re.compile(rf"\(?{NUMBER}\)?(?:\s*(?:±|\+-|to|of|x10|×\s*10)?\s*{NUMBER})*")
PLAIN_NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e[+\-]?\d+)?")
TIMES = ("s", "seconds", "time", "training time")


def words_of(markup: str) -> str:
    """A piece of a page without its tags."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def page(path: Path) -> Values:
    """Numbers in tables and tiles, shapes in figures, words as a note."""
    text = path.read_text()
    figures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    rest = re.sub(r"<svg.*?</svg>|<style.*?</style>", "", text, flags=re.DOTALL)
    cells: list[str] = [words_of(value) for value in re.findall(r'<dd class="value">(.*?)</dd>', rest, re.DOTALL)]
    for table in re.findall(r"<table.*?</table>", rest, re.DOTALL):
        rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in table.split("</tr>")]
        names = [words_of(cell) for cell in rows[0]]
        for row in rows:
            label = words_of(row[0]) if row else ""
            cells += [
                words_of(cell)
                for j, cell in enumerate(row)
                if label not in TIMES and (j >= len(names) or names[j] not in TIMES)
            ]
    numbers = [PLAIN_NUMBER.findall(cell) for cell in cells if NUMERIC_CELL.fullmatch(cell)]
    found: Values = {"numbers": np.array([float(n.replace(",", "")) for cell in numbers for n in cell])}
    for i, figure in enumerate(figures):
        shapes = " ".join(re.findall(r' (?:d|x|y|transform|points)="([^"]*)"', re.sub(r"<text.*?</text>", "", figure)))
        found[f"figure-{i}"] = np.array([float(n) for n in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", shapes)])
    return found | {"words~": np.array([words_of(rest)])}


@item("page.demo")
def _() -> Values:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "page.html")
        told = json.loads(command("demo", "--report", str(report), "--json"))
        return page(report) | {"scores": np.array(list(numbers_in(told["scores"])))}


@item("page.compare")
def _() -> Values:
    with tempfile.TemporaryDirectory() as folder:
        report, table = Path(folder, "page.html"), Path(folder, "runs.csv")
        write_table(table, *smooth(40))
        options = ["--target", "y", "--candidates", "gp,het-gp,gp-smooth", "--report", str(report), "--json"]
        told = json.loads(command("compare", str(table), *options))
        scores = [told["crps"], told["crps_se"], *(e["crps"] for e in told["entries"] if e["crps"] is not None)]
        return page(report) | {"scores": np.array(scores)}


@item("page.evaluate")
def _() -> Values:
    with tempfile.TemporaryDirectory() as folder:
        report, table, model = Path(folder, "page.html"), Path(folder, "held.csv"), Path(folder, "model.gb")
        X, y = coded(90)
        network(categorical=["gas"], n_members=2).fit(X, y).save(model)
        write_table(table, *coded(40, seed=9))
        told = json.loads(
            command("evaluate", str(model), str(table), "--target", "y", "--report", str(report), "--json")
        )
        out = Path(folder, "out.csv")
        command("predict", str(model), str(table), "--quantiles", "0.05,0.5,0.95", "-o", str(out))
        predicted = pd.read_csv(out).select_dtypes("number").to_numpy(float)
        return page(report) | {"scores": np.array(list(numbers_in(told))), "predicted": predicted}


@item("page.campaign")
def _() -> Values:
    with tempfile.TemporaryDirectory() as folder:
        url, report = f"sqlite:///{folder}/a.db", Path(folder, "page.html")
        made = Campaign.create(url, "rocket", SPACE, n_initial=20, proposer="random", random_state=0)
        for trial in made.ask(24):
            run_trial(trial, made)
        command("design", "status", url, "rocket", "--report", str(report), "--json")
        exported = Path(folder, "runs.csv")
        command("design", "export", url, "rocket", "-o", str(exported))
        return page(report) | {"exported": pd.read_csv(exported)[[*SPACE, "y"]].to_numpy(float)}
