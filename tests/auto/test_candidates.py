"""Which surrogates are tried on which runs, how they are made, and what is refused."""

import numpy as np
import pytest

from genbayes import InvalidInput
from genbayes.auto.trials import choose_candidates
from genbayes.models.gp.stationary import EXACT_LIMIT
from genbayes.models.registry import MOST_RUNS_FOR_GP, Facts, registered_models

NAMES = tuple(registered_models())

FEW = Facts(n=100, n_regimes=1)


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


def test_the_smoothest_kernel_is_offered_as_far_as_it_is_exact_and_not_where_there_are_regimes() -> None:
    assert "gp-smooth" in names(None, Facts(EXACT_LIMIT, n_regimes=1))
    assert "gp-smooth" not in names(None, Facts(EXACT_LIMIT + 1, n_regimes=1))
    assert "gp-smooth" not in names(None, Facts(100, n_regimes=2))


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


def test_a_class_instead_of_a_model_is_refused(fakes) -> None:
    with pytest.raises(InvalidInput, match="candidates must be models .*for 'mine'"):
        names({"mine": fakes.Bell})


@pytest.mark.parametrize("name", [7, None])
def test_a_name_that_is_no_text_is_refused(name) -> None:
    with pytest.raises(InvalidInput, match=f"candidates must be among gp, .*got {name!r}"):
        names([name])
