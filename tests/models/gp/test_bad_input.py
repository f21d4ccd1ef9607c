"""Runs that break careless kriging: none fails to factorise, and what was done about it is said."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from genbayes import load
from genbayes.arrays import FloatArray
from genbayes.models import HeteroskedasticGP, StationaryGP
from genbayes.models.gp import KERNELS, Replicates, fit_gp

RNG = np.random.default_rng(0)
PLAIN = RNG.uniform(size=(40, 2))
GRID = np.stack(np.meshgrid(np.linspace(0, 1, 8), np.linspace(0, 1, 8)), axis=-1).reshape(-1, 2)


def smooth(X: FloatArray) -> FloatArray:
    return np.asarray(np.sin(3 * X[:, 0]) + X[:, 1] ** 2)


BAD = {
    "repeated": np.repeat(PLAIN[:20], 2, axis=0),
    "nearly repeated": np.vstack([PLAIN, PLAIN[:20] + 1e-9]),
    "repeated to the last digit but one": np.vstack([PLAIN, np.nextafter(PLAIN[:20], 2.0)]),
    "gridded": GRID,
    "a constant column": np.column_stack([PLAIN, np.full(40, 3.0)]),
    "fewer runs than inputs": RNG.uniform(size=(12, 20)),
}
RESPONSES = {
    "smooth": smooth,
    "rounded": lambda X: np.round(smooth(X), 1),
    "huge": lambda X: 1e300 * smooth(X),
    "tiny": lambda X: 1e-300 * smooth(X),
    "far from zero": lambda X: 1e8 + smooth(X),
}


@pytest.mark.parametrize(("kernel", "response"), [("squared-exponential", "smooth"), *(("auto", y) for y in RESPONSES)])
@pytest.mark.parametrize("design", BAD)
def test_bad_designs_and_responses_are_fitted_and_predicted(design: str, kernel: str, response: str) -> None:
    X = BAD[design]
    y = RESPONSES[response](X)
    model = StationaryGP(kernel=kernel, random_state=0).fit(X, y)
    mean, sd = model.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(sd).all()
    assert (sd > 0).all()
    spread = np.ptp(y)
    assert np.abs(mean / spread - y / spread).mean() < (0.3 if design.startswith("fewer") else 0.05)


@pytest.mark.parametrize("design", BAD)
def test_a_heteroskedastic_gp_takes_bad_designs_too(design: str) -> None:
    X = BAD[design]
    mean, sd = HeteroskedasticGP(random_state=0).fit(X, smooth(X)).predict(X, return_std=True)
    assert np.isfinite([mean, sd]).all()


def test_nearly_repeated_inputs_that_disagree_are_taken_for_noise_and_covered() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(150, 2))
    X = np.vstack([X, X[:50] + 1e-7 * rng.normal(size=(50, 2))])
    y = smooth(X) + 1e-3 * rng.normal(size=200)
    new = rng.uniform(size=(400, 2))
    model = StationaryGP(kernel="squared-exponential", random_state=0).fit(X, y)
    lower, upper = model.predict_interval(new, level=0.9)
    seen = smooth(new) + 1e-3 * rng.normal(size=400)
    assert np.mean((lower < seen) & (seen < upper)) == pytest.approx(0.9, abs=0.06)  # four standard errors


def test_a_jitter_is_told_in_the_summary() -> None:
    Z = np.linspace(-1, 1, 120)[:, None]  # so close, and so smooth, that rounding makes the correlations singular
    gp = fit_gp(Replicates.collect(Z, np.sin(Z[:, 0]), np.ones(120)), np.random.default_rng(0))
    model = StationaryGP(kernel="squared-exponential", random_state=0).fit(Z, np.sin(Z[:, 0]))
    assert gp.jitter == 0.0
    length = np.array([50.0])
    jittered = type(gp)(type(gp.parameters)(length, 1e-18, 1.0, 0.0), model.gp_.runs, kernel="squared-exponential")
    assert 0 < jittered.jitter < 1e-10
    model.gp_ = jittered
    assert "jitter" in str(model.summary())


@pytest.mark.parametrize("model", [StationaryGP(random_state=0), HeteroskedasticGP(random_state=0)], ids=["gp", "het"])
@pytest.mark.parametrize(
    ("design", "said"),
    [
        ("a constant column", {"constant inputs": "x3; nothing is learnt of them"}),
        (
            "nearly repeated",
            {"near twins": "40 inputs lie almost where another does; they do not set the spread factor"},
        ),
        ("repeated", {}),
        ("gridded", {}),
        ("fewer runs than inputs", {}),
    ],
)
def test_the_summary_says_what_was_done_about_hard_runs(
    design: str, said: dict[str, str], model: StationaryGP | HeteroskedasticGP
) -> None:
    X = BAD[design]
    facts = model.fit(X, smooth(X)).summary()
    assert {name: facts[name] for name in ("constant inputs", "near twins") if name in facts} == said


def test_a_constant_column_is_called_by_its_name_also_after_loading(tmp_path: Path) -> None:
    X = pd.DataFrame(BAD["a constant column"], columns=["mach", "angle", "gas"])
    model = StationaryGP(random_state=0).fit(X, smooth(PLAIN))
    model.save(tmp_path / "gp.gbc")
    assert load(tmp_path / "gp.gbc").summary()["constant inputs"].startswith("gas;")


@pytest.mark.parametrize("kernel", ["auto", *KERNELS])
def test_the_summary_names_the_kernel_in_use(kernel: str) -> None:
    model = StationaryGP(kernel=kernel, random_state=0).fit(PLAIN, smooth(PLAIN))
    said = str(model.summary())
    assert KERNELS[model.gp_.kernel] in said
    assert ("most probable of four" in said) is (kernel == "auto")


@pytest.mark.parametrize("kernel", ["auto", "matern52"])
def test_a_small_stationary_gp_never_loads_torch(kernel: str) -> None:
    program = (
        "import sys, numpy as np; from genbayes.models.gp.stationary import StationaryGP; "
        "X = np.random.default_rng(0).uniform(size=(60, 2)); "
        f"model = StationaryGP(kernel={kernel!r}, random_state=0).fit(X, X.sum(axis=1)); "
        "model.predict(X, return_std=True); model.predict_distribution(X).crps(X[:, 0]); model.gp_.leave_out(X); "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
