"""Who is tried when, who is given up and why; what is said of the response was measured."""

import warnings

import joblib
import numpy as np
import pytest

from genbayes import AutoSurrogate, Normal
from genbayes.auto.candidates import Candidate, Clock, Trials
from genbayes.auto.race import Findings, measure_unevenness, run_race
from genbayes.auto.stacking import LEVELS
from genbayes.data.dataset import Dataset
from genbayes.models.registry import Facts

N = 100


@pytest.fixture
def racing(fakes):
    """Trials of candidates by name: (family, shift of the whole, shift of the quick version or None, refines)."""

    def make(limit: float | None = None, n_regimes: int = 1, is_free: bool = True, **given) -> Trials:
        rng = np.random.default_rng(0)
        data = Dataset(rng.uniform(size=(N, 1)), rng.standard_normal(N), np.ones(N))
        candidates = [
            Candidate(
                name.replace("_", "-"),
                name,
                lambda seed, shift=shift: fakes.Itself(shift),
                family,
                None if quick is None else (lambda seed, quick=quick: fakes.Bell(quick)),
                refines,
            )
            for name, (family, shift, quick, refines) in given.items()
        ]
        trials = Trials(candidates, data, np.arange(N) % 5, list(range(len(given))), Clock(limit), lambda _: None)
        run_race(trials, Facts(N, n_regimes), is_free)
        return trials

    return make


def notes(trials: Trials) -> dict[str, str]:
    return {name: trial.note for name, trial in trials.trials.items()}


TREES_FAR, TREES_NEAR = ("trees", 0.0, 3.0, ""), ("trees", 0.0, 0.1, "")


def test_trees_are_fitted_only_if_a_quick_version_is_not_far_behind(racing) -> None:
    far, near = (racing(gp=("gp", 0.0, None, ""), boosted=trees) for trees in (TREES_FAR, TREES_NEAR))
    assert notes(far)["boosted"] == "a quick version was far behind"
    assert far.trials["boosted"].model is None
    assert near.trials["boosted"].model is not None


@pytest.mark.parametrize(("n_regimes", "shift", "is_tried"), [(2, 0.65, False), (1, 0.65, True), (1, 3.0, False)])
def test_what_refines_a_candidate_far_behind_is_not_tried(racing, n_regimes, shift, is_tried: bool) -> None:
    """Where the response jumps 8% are far, elsewhere 30%; a shift of 0.65 costs about a fifth of the CRPS."""
    trials = racing(
        n_regimes=n_regimes,
        gp=("gp", shift, None, ""),
        gp_iqn=("", 0.0, None, "gp"),
        network=("network", 0.0, None, ""),
    )
    assert (notes(trials)["gp-iqn"] == "") is is_tried
    if not is_tried:
        assert notes(trials)["gp-iqn"] == "not tried: what it refines is far behind"


@pytest.mark.parametrize(("n_regimes", "note"), [(2, ""), (1, "not tried: one regime was found")])
def test_regimes_are_found_once_and_given_to_those_who_ask_for_them(fakes, n_regimes: int, note: str) -> None:
    data = Dataset(
        np.random.default_rng(0).uniform(size=(N, 1)), np.random.default_rng(1).standard_normal(N), np.ones(N)
    )
    candidates = [
        Candidate("gp", "gp", lambda seed: fakes.Itself(0.8), "gp"),
        Candidate("regime-gp", "regimes", lambda seed: fakes.Finder(n_regimes), "jumps", refines="gp"),
        Candidate("jump-gp", "jumps", lambda seed: fakes.Builder(), "jumps", refines="regime-gp", asks="regimes"),
    ]
    trials = Trials(candidates, data, np.arange(N) % 5, [0, 1, 2], Clock(None), lambda _: None)
    findings = run_race(trials, Facts(N, 1), is_free=True)
    assert findings.n_regimes == n_regimes
    assert notes(trials)["jump-gp"] == note
    if n_regimes == 2:
        assert trials.trials["jump-gp"].model.base_ is trials.trials["regime-gp"].model
    else:
        assert notes(trials)["regime-gp"].startswith("found one regime and even, normal noise")


def test_candidates_that_a_user_names_are_all_tried(racing) -> None:
    trials = racing(is_free=False, gp=("gp", 9.0, None, ""), gp_iqn=("", 0.0, None, "gp"), boosted=TREES_FAR)
    assert set(notes(trials).values()) == {""}


def test_under_a_limit_one_quick_version_of_each_family_comes_first_and_all_families_are_compared(racing) -> None:
    trials = racing(limit=60.0, gp=("gp", 0.0, 0.5, ""), network=("network", 0.0, 0.2, ""), boosted=TREES_NEAR)
    assert all(len(trial.seconds) == 2 for trial in trials.trials.values())  # the quick one and the whole


def test_where_time_is_gone_quick_versions_stand_and_are_named(fakes, clock) -> None:
    class SlowItself(fakes.Itself):
        def fit(self, X, y, sample_weight=None):
            return fakes.Slow(60.0, self.shift).fit(X, y, sample_weight)

    rng = np.random.default_rng(0)
    data = Dataset(rng.uniform(size=(N, 1)), rng.standard_normal(N), np.ones(N))
    candidates = [
        Candidate(name, name, lambda seed: SlowItself(), name, lambda seed, k=k: fakes.Bell(0.1 * k))
        for k, name in enumerate(("gp", "network", "trees"))
    ]
    trials = Trials(candidates, data, np.arange(N) % 5, [1, 2, 3], Clock(10.0), lambda _: None)
    run_race(trials, Facts(N, 1), True)
    assert {trial.n_learnt for trial in trials.trials.values()} == {80}
    assert trials.alive == ["gp", "network", "trees"]


def even_and_uneven(n: int, seed: int) -> tuple[Dataset, Dataset, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, e = rng.uniform(size=(n, 2)), rng.standard_normal(n)
    q = np.asarray(Normal(np.zeros(n), 1.0).ppf(LEVELS))
    return Dataset(X, e, np.ones(n)), Dataset(X, e * (0.2 + 2 * X[:, 0]), np.ones(n)), q


def test_uneven_noise_is_found_and_even_noise_is_not() -> None:
    draws = [even_and_uneven(200, seed) for seed in range(60)]
    found = [[measure_unevenness(q, data)[1] for data in pair] for *pair, q in draws]
    even, uneven = np.array(found).T
    assert (uneven < 0.01).all()
    assert np.mean(even < 0.1) < 0.1 + 3 * np.sqrt(0.1 * 0.9 / 60)  # a false alarm as often as it says
    even_data, uneven_data, q = even_and_uneven(2_000, 0)
    assert measure_unevenness(q, uneven_data)[0] > 2 > 1.5 > measure_unevenness(q, even_data)[0]


def test_few_rows_are_not_asked_whether_their_noise_is_even() -> None:
    even, _, q = even_and_uneven(15, 0)
    assert measure_unevenness(q, even) is None


@pytest.mark.parametrize(
    ("findings", "told"),
    [
        (Findings(), ""),
        (Findings(3), "The response has three regimes."),
        (Findings(noise=1e-6, unevenness=4.0, chance=1e-9), "No noise was found."),
        (Findings(noise=0.2, unevenness=4.0, chance=0.5), ""),
        (
            Findings(noise=0.2, unevenness=4.0, chance=0.004),
            "The noise is uneven: about 4 times larger in some runs than in others "
            "(even noise would look so 0.4% of the time).",
        ),
    ],
)
def test_a_property_of_the_response_is_told_with_its_number_and_only_if_it_was_found(findings, told: str) -> None:
    assert " ".join(findings.sentences()) == told


def test_the_same_model_whether_one_or_two_are_fitted_at_a_time() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(120, 3))
    y = np.sin(5 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(120)
    one, two = (AutoSurrogate(n_jobs=n_jobs, random_state=0).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.predict_quantiles(X, [0.1, 0.5, 0.9]), two.predict_quantiles(X, [0.1, 0.5, 0.9]))
    assert [e.crps for e in one.report_.entries] == [e.crps for e in two.report_.entries]


def test_a_dask_cluster_fits_the_candidates_and_comes_to_the_same() -> None:
    distributed = pytest.importorskip("distributed")
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    y = np.sin(5 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(60)
    here = AutoSurrogate(candidates=["gp", "het-gp"], random_state=0).fit(X, y)
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        warnings.simplefilter("ignore")  # of Dask, about itself
        there = AutoSurrogate(candidates=["gp", "het-gp"], random_state=0).fit(X, y)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))
    assert [e.crps for e in there.report_.entries] == [e.crps for e in here.report_.entries]
