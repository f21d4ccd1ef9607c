"""Nobody waits for what they do not need: `import genbayes` and `AutoSurrogate` are quick and load no torch."""

import json
import subprocess
import sys

import pytest

import genbayes

PROBE = """
import json, sys, time
{before}
start = time.process_time()
{code}
seconds = time.process_time() - start
heavy = ("torch", "sklearn", "scipy", "pandas", "matplotlib", "pyarrow", "lightgbm")
print(json.dumps([seconds, [name for name in heavy if name in sys.modules]]))
"""
NO_TORCH = {"torch", "matplotlib", "lightgbm"}  # scikit-learn itself brings SciPy and pandas, and that pyarrow
ALL = {*NO_TORCH, "sklearn", "scipy", "pandas", "pyarrow"}
SKLEARN = "import sklearn.base, sklearn.utils.validation"


def probe(code: str, before: str = "") -> tuple[float, set[str]]:
    program = PROBE.format(code=code, before=before)
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    seconds, loaded = json.loads(out.stdout)
    return seconds, set(loaded)


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import genbayes", ALL),
        ("import genbayes; genbayes.AutoSurrogate", NO_TORCH),
        ("from genbayes.data import read_table, split_target", ALL),
        ("import genbayes; genbayes.BoundaryFeatures", NO_TORCH),
        ("from genbayes.auto import SelectionReport", NO_TORCH),
        ("from genbayes import load, Normal, Box, ConformalSurrogate", NO_TORCH),
        ("from genbayes.report import write_assessment, write_comparison", NO_TORCH),
        ("from genbayes.models.regimes.mixture import find_regimes", NO_TORCH),
    ],
)
def test_an_import_loads_nothing_heavy_that_it_does_not_need(code: str, unwanted: set[str]) -> None:
    assert not probe(code)[1] & unwanted


@pytest.mark.parametrize(
    ("code", "before", "seconds"),
    [("import genbayes", "", 0.3), ("import genbayes; genbayes.AutoSurrogate", SKLEARN, 0.5)],
    ids=["genbayes", "AutoSurrogate, beyond scikit-learn"],
)
def test_an_import_is_quick(code: str, before: str, seconds: float) -> None:
    assert min(probe(code, before)[0] for _ in range(3)) < seconds


def test_unknown_names_are_refused_as_usual() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = genbayes.nonsense


def test_every_public_name_can_be_had() -> None:
    for name in genbayes.__all__:
        assert getattr(genbayes, name) is not None
    assert dir(genbayes) == sorted(genbayes.__all__)


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "runs.csv", "--target", "yy", "-o", "m.gb"],
        ["compare", "runs.csv", "--target", "y", "--inputs", "X"],
        ["evaluate", "m.gb", "runs.csv", "--target", "yy"],
        ["infer", "fit", "runs.csv", "--theta", "x", "--y", "yy", "-o", "p.gb"],
    ],
    ids=lambda words: " ".join(words),
)
def test_a_column_that_is_not_there_is_refused_before_anything_heavy_is_loaded(words, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.csv").write_text("x,y\n1,2\n")
    code = f"from genbayes.cli.main import answer; assert answer({words!r}) == 2"
    assert not probe(code)[1] & {*NO_TORCH, "sklearn", "scipy"}
