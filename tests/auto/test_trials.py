"""Trials: out-of-fold quantiles, what went wrong on record, time kept, and a model to fall back on."""

import numpy as np
import pytest

from genbayes.auto.stacking import LEVELS
from genbayes.auto.trials import Candidate, Clock, Trials
from genbayes.data.dataset import Dataset
from genbayes.metrics import crps

N = 30
FOLD = np.arange(N) % 3


def make_trials(said: list[str] | None = None, seeds: list[int] | None = None, **models) -> Trials:
    rng = np.random.default_rng(0)
    data = Dataset(rng.uniform(size=(N, 1)), rng.standard_normal(N), rng.uniform(1, 2, N))
    candidates = [
        Candidate(name, f"the {name}", lambda seed, model=model: model.set_params(random_state=seed))
        for name, model in models.items()
    ]
    announce = (lambda what: None) if said is None else said.append
    return Trials(candidates, data, FOLD, seeds or list(range(len(models))), announce)


def test_a_fold_is_predicted_by_a_model_that_saw_the_other_folds_only(fakes) -> None:
    trials = make_trials(mean=fakes.Mean())
    trials.run("mean", 1, None)
    trial, data = trials.trials["mean"], trials.data
    np.testing.assert_array_equal(trial.first.X_, data.X[FOLD != 1])
    np.testing.assert_array_equal(trial.first.weight_, data.weight[FOLD != 1])
    expected = np.average(data.y[FOLD != 1], weights=data.weight[FOLD != 1])
    np.testing.assert_allclose(trial.q[FOLD == 1].mean(axis=1), expected)
    assert np.isnan(trial.q[FOLD != 1]).all()


def test_scores_are_the_crps_of_the_rows_that_were_tried(fakes) -> None:
    trials = make_trials(bell=fakes.Bell(shift=0.3))
    trials.run("bell", 0, None)
    scores, known = trials.scores("bell"), FOLD == 0
    np.testing.assert_allclose(scores[known], crps(trials.trials["bell"].q[known], trials.data.y[known]))
    assert np.isnan(scores[~known]).all()


def test_rows_that_no_fold_holds_out_are_always_learnt_from(fakes) -> None:
    trials = make_trials(bell=fakes.Bell())
    trials.fold = np.where(np.arange(N) == 4, -1, FOLD)
    trials.run("bell", 1, None)
    assert len(trials.trials["bell"].first.y_) == N - 9


@pytest.mark.parametrize(("model", "fault"), [("Broken", "RuntimeError: the oven is cold"), ("Endless", "not finite")])
def test_what_goes_wrong_is_recorded_in_one_line_and_the_rest_go_on(fakes, model: str, fault: str) -> None:
    trials = make_trials(bad=getattr(fakes, model)(), good=fakes.Bell())
    for name in ("bad", "good"):
        trials.run(name, 0, None)
    assert trials.trials["bad"].note.endswith(fault) or fault in trials.trials["bad"].note
    assert "\n" not in trials.trials["bad"].note
    assert trials.alive == ["good"]


def test_a_candidate_that_runs_out_of_time_is_recorded_as_such(fakes, clock) -> None:
    trials = make_trials(slow=fakes.Slow(seconds=60))
    started = clock.read()
    trials.run("slow", 0, 0.02)
    assert clock.read() - started < 0.03
    assert trials.trials["slow"].note == "no time"
    assert trials.trials["slow"].seconds[0] >= 0.02
    assert trials.alive == []


def test_a_candidate_that_was_not_tried_is_not_alive(fakes) -> None:
    assert make_trials(bell=fakes.Bell()).alive == []


def test_the_final_model_has_seen_all_rows(fakes) -> None:
    trials = make_trials(bell=fakes.Bell())
    trials.run("bell", 0, None)
    assert len(trials.trials["bell"].first.y_) == 20
    np.testing.assert_array_equal(trials.final("bell", None).y_, trials.data.y)


def test_where_the_final_fit_fails_the_model_of_the_first_fold_stands(fakes) -> None:
    trials = make_trials(broken=fakes.Broken(n_rows=N))  # learns from 20 rows, not from 30
    trials.run("broken", 0, None)
    assert trials.final("broken", None) is trials.trials["broken"].first
    assert trials.alive == ["broken"]


def test_where_the_final_fit_has_no_time_the_model_of_the_first_fold_stands(fakes) -> None:
    trials = make_trials(slow=fakes.Slow(seconds=0.05))
    trials.run("slow", 0, None)
    first = trials.trials["slow"].first
    assert trials.final("slow", 0.0) is first


def test_each_fit_has_a_seed_of_its_own_and_the_same_one_again(fakes) -> None:
    def seeds_of(seed: int) -> list[int]:
        model, found = fakes.Bell(), []
        trials = make_trials(seeds=[seed], bell=model)
        for fold in range(3):
            trials.run("bell", fold, None)
            found.append(model.random_state)
        trials.final("bell", None)
        return [*found, model.random_state]

    assert len(set(seeds_of(1))) == 4
    assert seeds_of(1) == seeds_of(1)
    assert set(seeds_of(1)).isdisjoint(seeds_of(2))


def test_what_is_tried_is_announced(fakes) -> None:
    said: list[str] = []
    trials = make_trials(said, bell=fakes.Bell())
    trials.run("bell", 2, None)
    trials.final("bell", None)
    assert said == ["the bell, fold 3", "the bell, all rows"]


def test_quantiles_are_asked_for_at_the_levels_of_the_score(fakes) -> None:
    trials = make_trials(bell=fakes.Bell())
    trials.run("bell", 0, None)
    assert trials.trials["bell"].q.shape == (N, len(LEVELS))


def test_the_clock_counts_down_shares_of_the_limit() -> None:
    clock = Clock(100.0)
    assert clock.left() == pytest.approx(100, abs=1)
    assert clock.left(0.5) == pytest.approx(50, abs=1)
    assert Clock(1e-9).left() == 0
    assert Clock(None).left(0.5) is None
    assert 0 <= clock.seconds < 1
