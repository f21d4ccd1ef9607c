"""Which surrogates are tried and how they are made; a trial leaves out-of-fold quantiles, a note, and a model."""

import os
from dataclasses import replace
from functools import partial

import joblib
import numpy as np
import pytest

from genbayes import InvalidInput, Normal
from genbayes.auto.candidates import Candidate, Clock, Trial, Trials, choose_candidates
from genbayes.data.dataset import Dataset
from genbayes.errors import OutOfReach
from genbayes.metrics import crps
from genbayes.models.registry import MOST_RUNS_FOR_GP, Facts, registered_models

NAMES = tuple(registered_models())
FEW = Facts(n=100, n_regimes=1)
N = 30
FOLD = np.arange(N) % 3


def names(wanted, facts: Facts = FEW) -> list[str]:
    return [candidate.name for candidate in choose_candidates(wanted, facts)]


def test_few_runs_of_one_regime_are_tried_with_gps_and_networks() -> None:
    assert names(None) == ["gp", "regime-gp", "jump-gp", "het-gp", "gp-iqn", "iqn-boundary", "network"]


def test_of_very_many_runs_peaks_of_the_response_bring_in_a_model_of_jumps() -> None:
    many = MOST_RUNS_FOR_GP + 1
    more = set(names(None, Facts(n=many, n_regimes=2))) - set(names(None, Facts(n=many, n_regimes=1)))
    assert more == {"iqn-boundary"}


def test_many_runs_leave_out_what_would_take_too_long() -> None:
    assert "het-gp" not in names(None, Facts(n=2_501, n_regimes=1))
    huge = names(None, Facts(n=MOST_RUNS_FOR_GP + 1, n_regimes=1))
    assert "sparse-gp" in huge
    assert not set(huge) & {"gp", "gp-iqn"}


def test_what_is_asked_for_by_name_is_tried_whatever_the_facts() -> None:
    assert names(["sparse-gp", "gp"]) == ["sparse-gp", "gp"]
    assert names(("gp", "gp")) == ["gp"]


def test_what_refines_another_comes_after_it() -> None:
    for name, model in registered_models().items():
        assert model.refines == "" or NAMES.index(model.refines) < NAMES.index(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_candidate_can_be_made_and_gets_seed_and_categories(name: str) -> None:
    facts = Facts(n=100, n_regimes=2, categorical=(1,), bounds=(0.0, None))
    (candidate,) = choose_candidates([name], facts)
    parameters = candidate.make(5).get_params(deep=False)
    assert parameters["random_state"] == 5
    assert list(parameters.get("categorical", [1])) == [1]
    assert parameters.get("y_bounds", (0.0, None)) == (0.0, None)


def test_shallow_and_deep_networks_differ() -> None:
    shallow, deep = (candidate.make(0).n_layers for candidate in choose_candidates(["iqn-shallow", "iqn-deep"], FEW))
    assert shallow < deep


def test_a_model_of_the_user_is_copied_and_gets_a_seed(fakes) -> None:
    model = fakes.Bell(shift=3.0)
    gp, mine = choose_candidates({"gp": None, "mine": model}, FEW)
    copy = mine.make(9)
    assert (gp.name, mine.name, mine.title) == ("gp", "mine", "Bell")
    assert copy is not model
    assert (copy.shift, copy.random_state, model.random_state) == (3.0, 9, None)


def test_a_seed_of_the_user_is_kept(fakes) -> None:
    (mine,) = choose_candidates({"mine": fakes.Bell(random_state=4)}, FEW)
    assert mine.make(9).random_state == 4


def test_a_name_of_ours_may_stand_for_a_model_of_the_user(fakes) -> None:
    (mine,) = choose_candidates({"gp": fakes.Bell()}, FEW)
    assert isinstance(mine.make(0), fakes.Bell)


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="candidates must be among gp, .*got 'iqn-depe'.*'iqn-deep'"):
        names(["iqn-depe"])


@pytest.mark.parametrize("wanted", ["gp", [], {}, 3, {"gp"}, np.array(["gp"])], ids=repr)
def test_what_is_no_list_of_names_is_refused(wanted) -> None:
    with pytest.raises(InvalidInput, match=r"candidates must be names \(gp, .*\) or a mapping of models, got"):
        names(wanted)


@pytest.mark.parametrize("model", [3, "StationaryGP", object(), dict], ids=["number", "text", "object", "class"])
def test_what_is_no_model_is_refused(model) -> None:
    with pytest.raises(InvalidInput, match="candidates must be models with fit and predict_distribution, got .*'mine'"):
        names({"mine": model})


@pytest.mark.parametrize("name", [7, None])
def test_a_name_that_is_no_text_is_refused(name) -> None:
    with pytest.raises(InvalidInput, match=f"candidates must be among gp, .*got {name!r}"):
        names([name])


def make_trials(
    said: list[str] | None = None,
    seeds: list[int] | None = None,
    limit: float | None = None,
    n_jobs: int | None = None,
    **models,
) -> Trials:
    rng = np.random.default_rng(0)
    data = Dataset(rng.uniform(size=(N, 1)), rng.standard_normal(N), rng.uniform(1, 2, N))
    candidates = [
        Candidate(name, f"the {name}", lambda seed, model=model: model.set_params(random_state=seed))
        for name, model in models.items()
    ]
    announce = (lambda what: None) if said is None else said.append
    return Trials(candidates, data, FOLD, seeds or list(range(len(models))), Clock(limit), announce, n_jobs)


def test_a_fold_is_predicted_by_a_model_that_saw_the_other_folds_only(fakes) -> None:
    trials = make_trials(mean=fakes.Mean())
    trials.fit_without(["mean"], 1, None)
    trial, data = trials.trials["mean"], trials.data
    np.testing.assert_array_equal(trial.part.X_, data.X[FOLD != 1])
    np.testing.assert_array_equal(trial.part.weight_, data.weight[FOLD != 1])
    expected = np.average(data.y[FOLD != 1], weights=data.weight[FOLD != 1])
    np.testing.assert_allclose(trial.q[FOLD == 1].mean(axis=1), expected)
    assert np.isnan(trial.q[FOLD != 1]).all()
    scores, known = trials.scores("mean"), FOLD == 1
    np.testing.assert_allclose(scores[known], crps(trial.q[known], data.y[known]))
    assert np.isnan(scores[~known]).all()


def test_a_model_that_leaves_its_own_runs_out_is_fitted_once_and_judged_on_all_rows(fakes) -> None:
    trials = make_trials(itself=fakes.Itself(0.3))
    assert trials.judges_itself("itself")
    trials.fold = np.where(np.arange(N) == 4, -1, FOLD)  # a row that no fold may hold out is not judged
    trials.fit_all(["itself"], None)
    trial = trials.trials["itself"]
    assert trials.model_of("itself") is trial.model
    assert len(trial.model.y_) == N
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(trial.q[:, 0])), [4])
    assert len(trial.seconds) == 1


def test_where_runs_were_repeated_on_purpose_networks_do_not_judge_themselves() -> None:
    X, y = np.repeat(np.arange(10.0), 3)[:, None], np.arange(30.0)
    data, fold = Dataset(X, y, np.ones(30)), np.repeat(np.arange(10), 3) % 3
    chosen = choose_candidates(["gp", "network"], FEW)
    together, apart = (Trials(chosen, data, f, [0, 1], Clock(None), print) for f in (fold, np.arange(30) % 3))
    assert [together.judges_itself(name) for name in ("gp", "network")] == [True, False]
    assert [apart.judges_itself(name) for name in ("gp", "network")] == [True, True]


def test_rows_that_no_fold_holds_out_are_always_learnt_from(fakes) -> None:
    trials = make_trials(bell=fakes.Bell())
    trials.fold = np.where(np.arange(N) == 4, -1, FOLD)
    trials.fit_without(["bell"], 1, None)
    assert len(trials.trials["bell"].part.y_) == N - 9


@pytest.mark.parametrize(("model", "fault"), [("Broken", "RuntimeError: the oven is cold"), ("Endless", "not finite")])
def test_what_goes_wrong_is_recorded_in_one_line_and_the_rest_go_on(fakes, model: str, fault: str) -> None:
    trials = make_trials(bad=getattr(fakes, model)(), good=fakes.Bell())
    trials.fit_without(["bad", "good"], 0, None)
    assert fault in trials.trials["bad"].note
    assert "\n" not in trials.trials["bad"].note
    assert trials.alive == ["good"]


def test_a_candidate_that_runs_out_of_time_is_recorded_as_such(fakes, clock) -> None:
    trials = make_trials(slow=fakes.Slow(seconds=60), late=fakes.Bell())
    started = clock.read()
    trials.fit_without(["slow", "late"], 0, 0.02)  # the second begins when the first has used it up
    assert clock.read() - started < 0.03
    assert [trials.trials[name].note for name in ("slow", "late")] == ["no time", "no time"]
    assert trials.trials["slow"].seconds[0] >= 0.02
    assert trials.alive == []


def test_a_candidate_that_was_not_tried_is_not_alive(fakes) -> None:
    assert make_trials(bell=fakes.Bell()).alive == []


@pytest.mark.parametrize("model", [{"Broken": {"n_rows": N}}, {"Slow": {"seconds": 0.05}}], ids=["fails", "no time"])
def test_where_the_fit_to_all_rows_fails_or_has_no_time_the_model_of_a_fold_stands(fakes, clock, model) -> None:
    ((kind, settings),) = model.items()
    trials = make_trials(it=getattr(fakes, kind)(**settings))  # learns from 20 rows, not from 30
    trials.fit_without(["it"], 0, None)
    part = trials.trials["it"].part
    trials.fit_all(["it"], 0.01)
    assert trials.model_of("it") is part


def test_each_fit_has_a_seed_of_its_own_and_the_same_one_again(fakes) -> None:
    def seeds_of(seed: int) -> list[int]:
        model, found = fakes.Bell(), []
        trials = make_trials(seeds=[seed], bell=model)
        for fold in range(3):
            trials.fit_without(["bell"], fold, None)
            found.append(model.random_state)
        trials.fit_all(["bell"], None)
        return [*found, model.random_state]

    assert len(set(seeds_of(1))) == 4
    assert seeds_of(1) == seeds_of(1)
    assert set(seeds_of(1)).isdisjoint(seeds_of(2))


def test_what_is_tried_is_announced(fakes) -> None:
    said: list[str] = []
    trials = make_trials(said, bell=fakes.Bell())
    trials.fit_without(["bell"], 2, None)
    trials.fit_all(["bell"], None)
    assert said == ["the bell: fold 3", "the bell: all rows"]


def test_what_builds_on_another_is_given_it_and_what_yields_is_given_its_scores(fakes) -> None:
    class Builds(fakes.Bell):
        def fit_on(self, base, X, y, sample_weight=None):
            self.base_ = base
            return self.fit(X, y, sample_weight)

    class Yields(fakes.Bell):
        def fit_against(self, rival, X, y, sample_weight=None):
            raise OutOfReach(f"{np.isfinite(rival).sum()} scores")

    trials = make_trials(base=fakes.Itself(), builds=Builds(), yields=Yields())
    trials.trials["builds"].candidate = replace(trials.trials["builds"].candidate, refines="base")
    trials.fit_all(["base"], None)
    trials.fit_all(["builds", "yields"], None, trials.best_scores())
    assert trials.trials["builds"].model.base_ is trials.trials["base"].model
    assert trials.trials["yields"].note == f"stopped: {N} scores"


def test_a_quick_version_counts_until_the_whole_one_is_fitted(fakes) -> None:
    trials = make_trials(itself=fakes.Itself())
    candidate = replace(trials.trials["itself"].candidate, probe=lambda seed: fakes.Bell(9.0))
    trials.trials["itself"].candidate = candidate
    trials.probe(["itself"], None)
    trial = trials.trials["itself"]
    assert (trial.n_learnt, trial.is_alive, int(np.isfinite(trial.q[:, 0]).sum())) == (20, True, 10)
    assert trials.model_of("itself").shift == 9.0
    trials.fit_all(["itself"], None)
    assert (trial.n_learnt, trials.model_of("itself").shift) == (0, 0.0)
    assert np.abs(trial.q).max() < 5  # nothing of the quick version is left


def test_behind_is_said_of_a_clear_difference_of_that_size_only(fakes) -> None:
    trials = make_trials(best=fakes.Itself(), near=fakes.Itself(0.3), far=fakes.Itself(3.0))
    trials.fit_all(["best", "near", "far"], None)
    assert [trials.is_behind(name) for name in ("best", "near", "far")] == [False, False, True]
    assert not trials.is_behind("far", by=100.0)


@pytest.mark.parametrize(("really", "is_alive"), [(0.0, True), (3.0, False)])
def test_scores_that_a_candidate_gives_itself_must_hold_on_a_fold(fakes, really: float, is_alive: bool) -> None:
    class Flatters(fakes.Itself):
        def predict_distribution(self, X, of="run"):
            return Normal(np.full(len(X), really), 1.0)

        def predict_out_of_fold(self, X, y):
            return np.arange(len(y)), Normal(np.zeros(len(y)), 1.0)

    trials = make_trials(it=Flatters())
    trials.fit_all(["it"], None)
    trials.verify("it", None)
    assert trials.trials["it"].is_alive is is_alive
    assert is_alive or trials.trials["it"].note == "its leave-one-out scores did not hold on a fold"


def test_a_check_on_a_fold_begins_with_what_the_candidate_builds_on(fakes) -> None:
    given: list[object] = []

    class Builds(fakes.Itself):
        def fit_on(self, base, X, y, sample_weight=None):
            given.append((base, len(y)))
            return self.fit(X, y, sample_weight)

    trials = make_trials(base=fakes.Itself(), builds=Builds())
    trials.trials["builds"].candidate = replace(trials.trials["builds"].candidate, refines="base")
    trials.fit_all(["base"], None)
    trials.fit_all(["builds"], None)
    trials.verify("builds", None)
    model = trials.trials["base"].model
    assert given == [(model, N), (model, int(np.sum(trials.fold != 0)))]


class Deadly:
    """A model whose fit ends its process."""

    def __init__(self, random_state=None) -> None:
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict:
        return {"random_state": self.random_state}

    def fit(self, X, y, sample_weight=None):
        os._exit(3)

    def predict_distribution(self, X):
        raise AssertionError


def test_a_worker_process_that_dies_fails_its_candidate_alone(fakes) -> None:
    trials = make_trials(well=fakes.Bell())
    trials.trials["deadly"] = Trial(
        Candidate("deadly", "Deadly", Deadly), np.full_like(trials.trials["well"].q, np.nan)
    )
    trials._seed["deadly"], trials.n_jobs = 1, 2
    with joblib.parallel_config(backend="loky"):
        trials.fit_without(["well", "deadly"], 0, None)
    assert trials.alive == ["well"]
    assert trials.trials["deadly"].note.startswith("its worker process died")


def test_the_clock_counts_down_shares_of_the_limit() -> None:
    clock = Clock(100.0)
    assert clock.left() == pytest.approx(100, abs=1)
    assert clock.left(0.5) == pytest.approx(50, abs=1)
    assert Clock(1e-9).left() == 0
    assert Clock(None).left(0.5) is None
    assert 0 <= clock.seconds < 1


def test_with_two_jobs_a_fit_begins_before_its_turn_unless_its_quick_version_is_far_behind(fakes) -> None:
    class Yields(fakes.Itself):
        def fit_against(self, rival, X, y, sample_weight=None):
            raise OutOfReach(f"{np.isfinite(rival).sum()} scores")

    trials = make_trials(n_jobs=2, base=fakes.Itself(), near=Yields(), far=Yields())
    for name, shift in (("near", 0.1), ("far", 9.0)):
        probe = partial(lambda shift, seed: fakes.Bell(shift), shift)
        trials.trials[name].candidate = replace(trials.trials[name].candidate, probe=probe)
    with trials.ahead([], ["near", "far"]):
        trials.fit_all(["base"], None)
        trials.begin_unless_behind(["near", "far"], 1.25)
        assert set(trials._begun) == {"near"}
        trials.fit_all(["near"], None, trials.best_scores())
    assert trials.trials["near"].note == f"stopped: {N} scores"
