"""Problems by formula: the paper's, stand-ins for those whose data may not be passed on, and some that nobody tuned on.

Friedman's function (paper section 5.4), Michalewicz's with a step (6.2), two functions that are called "2D exponential"
(6.3), side forces in place of Rocket LGBB (6.3), a smooth function in place of 7D Proxy (6.4), and from the Virtual
Library of Simulation Experiments (Surjanovic and Bingham 2013) borehole and piston.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from genbayes.arrays import FloatArray
from genbayes_bench.problems.design import Sequential, start_formula
from genbayes_bench.problems.problem import MAIN, QUICK, Problem, Protocol, Split
from genbayes_bench.problems.sampling import draws_of
from genbayes_bench.problems.shared import read_shared

STREAM_FRIEDMAN, STREAM_EXP2D = 54, 7  # paper section 5.4; these keep the draws of problems apart
MICHALEWICZ_FLAT = -0.01  # the paper does not say where the flat part ends; a fifth of the box lies above this
HL20 = "data/hl20/hl20_base_tables.csv"
LIBRARY = "Virtual Library of Simulation Experiments (Surjanovic and Bingham 2013)"
OWNER = "whose owner forbids passing it on"
ROCKET_LOWER, ROCKET_UPPER = (0.2, -5.0, 0.0), (6.0, 30.0, 4.0)  # mach, angles of attack and of sideslip in degrees
HL20_LOWER, HL20_UPPER = (0.3, 0.0, 0.0), (4.0, 15.0, 4.0)
# rw, r, Tu, Hu, Tl, Hl, L, Kw: radii, transmissivities, heads, length, conductivity
BOREHOLE_LOWER = (0.05, 100.0, 63_070.0, 990.0, 63.1, 700.0, 1_120.0, 9_855.0)
BOREHOLE_UPPER = (0.15, 50_000.0, 115_600.0, 1_110.0, 116.0, 820.0, 1_680.0, 12_045.0)
# M, S, V0, k, P0, Ta, T0: weight, area, volume, spring, pressure, temperatures
PISTON_LOWER = (30.0, 0.005, 0.002, 1_000.0, 90_000.0, 290.0, 340.0)
PISTON_UPPER = (60.0, 0.020, 0.010, 5_000.0, 110_000.0, 296.0, 360.0)


def friedman(X: FloatArray) -> FloatArray:
    """10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5, (n, d) -> (n,) (Friedman 1991).

    Example:
        >>> friedman(np.full((1, 10), 0.5)).round(4)
        array([14.5711])
    """
    x1, x2, x3, x4, x5 = X[:, :5].T
    return np.asarray(10 * np.sin(np.pi * x1 * x2) + 20 * (x3 - 0.5) ** 2 + 10 * x4 + 5 * x5)


def draw_friedman(replicate: int, n_train: int = 2_000, n_test: int = 500) -> Split:
    """One replicate: x uniform on [0, 1]^10, of which five matter, y = f + N(0, 1).

    Example:
        >>> draw_friedman(0).X_test.shape
        (500, 10)
    """
    rng = np.random.default_rng([STREAM_FRIEDMAN, n_train, replicate])
    X = rng.uniform(size=(n_train + n_test, 10))
    f = friedman(X)
    y = f + rng.standard_normal(len(f))
    return Split(X[:n_train], y[:n_train], X[n_train:], y[n_train:], f[n_train:], 1.0)


def michalewicz(X: FloatArray) -> FloatArray:
    """f(x) + 0.5 1{f(x) > -0.01}, f(x) = -sum_i sin(x_i) sin^20(i x_i^2 / pi), x in [0, pi]^4, (n, 4) -> (n,).

    Example:
        >>> michalewicz(np.array([[0.0, 0.0, 0.0, 0.0], [2.2, 1.57, 1.28, 1.92]])).round(2)
        array([ 0.5, -3.7])
    """
    i = np.arange(1, 5)
    f = -(np.sin(X) * np.sin(i * X**2 / np.pi) ** 20).sum(axis=1)
    return np.asarray(f + 0.5 * (f > MICHALEWICZ_FLAT))


def bump(X: FloatArray, height: float = 1.0) -> FloatArray:
    """The function height x1 exp(-x1^2 - x2^2), (n, 2) -> (n,).

    Example:
        >>> bump(np.array([[1.0, 0.0], [0.0, 1.0]])).round(4)
        array([0.3679, 0.    ])
    """
    return np.asarray(height * X[:, 0] * np.exp(-(X**2).sum(axis=1)))


def draw_exp2d(replicate: int, n_train: int = 100, n_test: int = 1_000) -> Split:
    """10 x1 exp(-x1^2 - x2^2) on [-2, 2]^2, Latin hypercube points, noise 0.1.

    Example:
        >>> draw_exp2d(0).X_train.shape
        (100, 2)
    """
    from scipy.stats import qmc  # slow to import

    rng = np.random.default_rng([STREAM_EXP2D, replicate])
    X = 4 * qmc.LatinHypercube(2, rng=rng).random(n_train) - 2
    X_test = rng.uniform(-2, 2, (n_test, 2))
    f, f_test = bump(X, 10.0), bump(X_test, 10.0)
    y, y_test = (mean + 0.1 * rng.standard_normal(len(mean)) for mean in (f, f_test))
    return Split(X, y, X_test, y_test, f_test=f_test, noise_sd=0.1)


def side_force(X: FloatArray) -> FloatArray:
    """Side force at mach m, angle of attack a and of sideslip b in degrees, (n, 3) -> (n,); invented.

    -0.006 b + 0.0004 a b exp(-((m - 1) / 0.25)^2) + 0.008 b sin(a / 4) / (1 + exp(8 (m - 1.1)))

    Example:
        >>> side_force(np.array([[1.0, 10.0, 0.0], [3.0, 10.0, 2.0]])).round(4)
        array([ 0.   , -0.012])
    """
    m, a, b = X.T
    ridge = 0.0004 * a * b * np.exp(-(((m - 1) / 0.25) ** 2))
    slow = 0.008 * b * np.sin(a / 4) / (1 + np.exp(8 * (m - 1.1)))
    return np.asarray(-0.006 * b + ridge + slow)


def side_force_hl20(X: FloatArray) -> FloatArray:
    """Side force of the HL-20 lifting body (NASA TM-107580), (n, 3) -> (n,).

    b sum_k c_k(m) a^k with coefficients c_0, ..., c_3 that are linear in mach between the rows of the table.
    """
    table, (m, a, b) = read_shared(HL20), X.T
    coefficients = [np.interp(m, table["mach"], table[f"CYB_a{k}"]) for k in range(4)]
    return np.asarray(b * sum(c * a**k for k, c in enumerate(coefficients)))


def proxy(X: FloatArray) -> FloatArray:
    """3 exp(-x1) + 2 sin(pi x2 x3) + 1.5 x4^2 + x5 - 0.5 x6 x7, x in [0, 1]^7, (n, 7) -> (n,); invented.

    Example:
        >>> proxy(np.array([[0.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0]]))
        array([7.])
    """
    x1, x2, x3, x4, x5, x6, x7 = X.T
    return np.asarray(3 * np.exp(-x1) + 2 * np.sin(np.pi * x2 * x3) + 1.5 * x4**2 + x5 - 0.5 * x6 * x7)


def borehole(X: FloatArray) -> FloatArray:
    """Flow of water through a borehole, m^3 a year, (n, 8) -> (n,).

    2 pi Tu (Hu - Hl) / (ln(r / rw) (1 + 2 L Tu / (ln(r / rw) rw^2 Kw) + Tu / Tl))

    Example:
        >>> borehole(np.array([[0.1, 10_000.0, 90_000.0, 1_050.0, 90.0, 760.0, 1_400.0, 11_000.0]])).round(2)
        array([71.23])
    """
    rw, r, Tu, Hu, Tl, Hl, L, Kw = X.T
    log = np.log(r / rw)
    return np.asarray(2 * np.pi * Tu * (Hu - Hl) / (log * (1 + 2 * L * Tu / (log * rw**2 * Kw) + Tu / Tl)))


def piston(X: FloatArray) -> FloatArray:
    """Time a piston takes for one cycle, in seconds, (n, 7) -> (n,).

    2 pi sqrt(M / (k + S^2 P0 V0 Ta / (T0 V^2))), V = S / (2 k) (sqrt(A^2 + 4 k P0 V0 Ta / T0) - A),
    A = P0 S + 19.62 M - k V0 / S

    Example:
        >>> piston(np.array([[45.0, 0.0125, 0.006, 3_000.0, 100_000.0, 293.0, 350.0]])).round(4)
        array([0.4644])
    """
    M, S, V0, k, P0, Ta, T0 = X.T
    gas = P0 * V0 * Ta / T0
    A = P0 * S + 19.62 * M - k * V0 / S
    V = S / (2 * k) * (np.sqrt(A**2 + 4 * k * gas) - A)
    return np.asarray(2 * np.pi * np.sqrt(M / (k + S**2 * gas / V**2)))


FRIEDMAN = Problem(
    "friedman", "Friedman's function, 5 of 10 inputs matter", 10, draw_friedman, source="paper section 5.4"
)
SCALING = replace(FRIEDMAN, name="friedman_scaling", title="Friedman's function, from 500 runs on")
SCALES = Protocol(
    "friedman_scaling",
    n_train=500,
    more_n_train=(1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000),
    n_test=500,
    n_replicates=1,
    source="Table 4",
    metrics=("rmse_f", "crps", "fit_seconds"),
    methods=(*MAIN, "sparse-gp", "gbc-paper"),
    paper_settings={"n_epochs": 3_000},
    n_paper=20_000,
    time_limit=1_800.0,  # choosing among ten models on 200,000 runs would take hours
)
FRIEDMAN_PROTOCOLS = (
    Protocol(
        "friedman",
        n_train=2_000,
        n_test=500,
        n_replicates=10,
        source="Table 3",
        metrics=("crps", "rmse", "coverage", "crps_f", "rmse_f", "coverage_f"),
        paper_settings={"n_epochs": 3_000},
    ),
    SCALES,
    Protocol(
        "friedman_scaling",
        name=QUICK,
        n_train=200,
        more_n_train=(800,),
        n_test=200,
        n_replicates=2,
        source="Table 4",
        metrics=SCALES.metrics,
        methods=("gbc", "gp", "boosted"),
        n_epochs=50,
    ),
)

MICHALEWICZ = Problem(
    "michalewicz",
    "Michalewicz's function, its flat part raised",
    n_inputs=4,
    draw=draws_of(michalewicz, [0.0] * 4, [np.pi] * 4, stream=64),
    source="paper section 6.2",
    standin="the paper does not say where the flat part ends; f > -0.01 here",
    jumps=True,
)
MICHALEWICZ_PROTOCOL = Protocol(
    "michalewicz",
    n_train=90_000,
    n_test=10_000,
    n_replicates=1,
    source="Table 5",
    paper_settings={"weights": "quantile-dominant", "n_epochs": 3_000},
    time_limit=1_800.0,  # the paper's time; choosing among ten models on 90,000 runs would take hours
)

EXPONENTIALS = (
    Problem(
        "exp2d_gbc",
        "10 x1 exp(-x1^2 - x2^2) on [-2, 2]^2, noise 0.1",
        n_inputs=2,
        draw=draw_exp2d,
        source="the paper's authors' book; Table 6",
        kind="design",
        sequential=Sequential(
            start_formula(lambda X: 10 * bump(X), [-2.0, -2.0], [2.0, 2.0], n_initial=10, stream=1, noise_sd=0.1),
            n_runs=100,
            n_random=200,
            n_deep=100,
            checkpoints=(10, 20, 30, 40, 50, 60, 80, 100, 150, 200),
            metric="rmse_f",
            noise="estimated",
        ),
    ),
    Problem(
        "exp2d_sauer",
        "x1 exp(-x1^2 - x2^2) on [-2, 4]^2, no noise",
        n_inputs=2,
        draw=draws_of(bump, [-2.0, -2.0], [4.0, 4.0], stream=71),
        source="R package deepgp and the Surrogates book",
        kind="design",
    ),
)
EXPONENTIAL_PROTOCOLS = (
    Protocol("exp2d_gbc", 100, 1_000, n_replicates=30, source="Table 6", metrics=("rmse_f", "crps", "ratio")),
    Protocol("exp2d_sauer", 100, 1_000, n_replicates=30, metrics=("rmse", "crps")),
)

FLIGHT = Sequential(
    start_formula(side_force, ROCKET_LOWER, ROCKET_UPPER, n_initial=50, stream=2),
    n_runs=300,
    n_random=900,
    n_deep=150,
    checkpoints=(50, 75, 100, 150, 200, 250, 300, 450, 600, 900),
)
ROCKETS = (
    Problem(
        "rocket",
        "side force with a ridge at mach 1, formula",
        n_inputs=3,
        draw=draws_of(side_force, ROCKET_LOWER, ROCKET_UPPER, stream=63),
        source="invented; paper section 6.3",
        standin=f"formula of ours in place of Rocket LGBB, {OWNER}",
        kind="design",
        sequential=FLIGHT,
    ),
    Problem(
        "rocket_hl20",
        "side force of NASA's HL-20",
        n_inputs=3,
        draw=draws_of(side_force_hl20, HL20_LOWER, HL20_UPPER, stream=631),
        source="NASA TM-107580",
        standin=f"another vehicle in place of Rocket LGBB, {OWNER}",
        kind="design",
        needs=HL20,
        sequential=replace(FLIGHT, start=start_formula(side_force_hl20, HL20_LOWER, HL20_UPPER, 50, stream=3)),
    ),
)
ROCKET_PROTOCOL = Protocol("rocket", 300, 1_000, 30, source="Table 6", metrics=("rmse", "crps", "coverage"))
ROCKET_PROTOCOLS = (ROCKET_PROTOCOL, replace(ROCKET_PROTOCOL, problem="rocket_hl20"))

PROXY = Problem(
    "proxy7",
    "smooth function of seven inputs",
    n_inputs=7,
    draw=draws_of(proxy, [0.0] * 7, [1.0] * 7, stream=73),
    source="invented; paper section 6.4",
    standin="formula of ours in place of 7D Proxy, which the paper does not define",
    kind="design",
    sequential=Sequential(
        start_formula(proxy, [0.0] * 7, [1.0] * 7, n_initial=20, stream=6),
        n_runs=70,
        n_random=140,
        n_deep=70,
        checkpoints=(20, 30, 40, 50, 60, 70, 100, 140),
    ),
)
PROXY_PROTOCOL = Protocol("proxy7", 70, 1_000, n_replicates=10, source="Table 6", metrics=("rmse", "crps", "coverage"))

ENGINEERING = (
    Problem(
        "borehole",
        "flow through a borehole",
        n_inputs=8,
        draw=draws_of(borehole, BOREHOLE_LOWER, BOREHOLE_UPPER, stream=81),
        source=LIBRARY,
    ),
    Problem(
        "piston",
        "cycle time of a piston",
        n_inputs=7,
        draw=draws_of(piston, PISTON_LOWER, PISTON_UPPER, stream=82),
        source=LIBRARY,
    ),
)
ENGINEERING_PROTOCOLS = tuple(Protocol(p.name, 400, 1_000, n_replicates=10) for p in ENGINEERING)
