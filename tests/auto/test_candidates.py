"""Which surrogates are tried and how they are made; a trial leaves out-of-fold quantiles, a note, and a model."""

import numpy as np
import pytest

from genbayes import InvalidInput
from genbayes.auto.candidates import Candidate, Clock, Trials, choose_candidates
from genbayes.data.dataset import Dataset
from genbayes.metrics import crps
from genbayes.models.registry import MOST_RUNS_FOR_GP, Facts, registered_models

NAMES = tuple(registered_models())
FEW = Facts(n=100, n_regimes=1)
N = 30
FOLD = np.arange(N) % 3


def names(wanted, facts: Facts = FEW) -> list[str]:
    return [candidate.name for candidate in choose_candidates(wanted, facts)]


def test_few_runs_of_one_regime_are_tried_with_gps_and_networks() -> None:
    assert set(names(None)) >= {"gp", "het-gp", "gp-iqn", "iqn-shallow", "iqn-deep"}
    assert not set(names(None)) & {"sparse-gp", "regime-gp", "jump-gp", "iqn-boundary"}


def test_regimes_bring_in_the_models_of_jumps() -> None:
    more = set(names(None, Facts(n=100, n_regimes=2))) - set(names(None))
    assert more == {"regime-gp", "jump-gp", "iqn-boundary"}


@pytest.mark.parametrize("n_regimes", [1, 2])
def test_runs_are_tried_with_fourier_features_where_they_are_enough(n_regimes: int) -> None:
    few, many = (names(None, Facts(n=n, n_regimes=n_regimes)) for n in (299, 300))
    assert "iqn-wavy" in many
    assert "iqn-wavy" not in few
    (wavy,) = choose_candidates(["iqn-wavy"], FEW)
    assert wavy.make(0).n_fourier > 0


def test_many_runs_leave_out_what_would_take_too_long() -> None:
    assert "het-gp" not in names(None, Facts(n=2_501, n_regimes=1))
    huge = names(None, Facts(n=MOST_RUNS_FOR_GP + 1, n_regimes=1))
    assert "sparse-gp" in huge
    assert not set(huge) & {"gp", "gp-iqn"}


def test_the_smoothest_kernel_alone_is_tried_only_if_named() -> None:
    assert "gp-smooth" not in names(None, Facts(100, n_regimes=1))
    assert names(["gp-smooth"]) == ["gp-smooth"]


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


def test_the_clock_counts_down_shares_of_the_limit() -> None:
    clock = Clock(100.0)
    assert clock.left() == pytest.approx(100, abs=1)
    assert clock.left(0.5) == pytest.approx(50, abs=1)
    assert Clock(1e-9).left() == 0
    assert Clock(None).left(0.5) is None
    assert 0 <= clock.seconds < 1
