import pytest

from genbayes import InvalidInput
from genbayes_bench.rivals.r_bridge import PACKAGES, RDeepGP, RHetGP, RHomGP, RLocalGP


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (RHomGP(), ["homgp", "hetGP", "kernel=matern52"]),
        (RHetGP(kernel="squared-exponential"), ["hetgp", "hetGP", "kernel=squared-exponential"]),
        (RLocalGP(n_neighbours=30), ["lagp", "laGP", "n_neighbours=30"]),
        (
            RDeepGP(nugget=1e-8),
            [
                *("deepgp", "deepgp", "kernel=matern52", "n_samples=200", "n_burn_in=1000", "thinning=10"),
                "nugget=1e-08",
            ],
        ),
    ],
)
def test_a_model_names_its_package_and_settings(model, words: list[str]) -> None:
    assert model.arguments() == words


def test_a_setting_left_to_the_package_is_not_passed() -> None:
    assert not any(word.startswith("nugget") for word in RDeepGP().arguments())


def test_numbers_keep_all_their_digits() -> None:
    (word,) = (word for word in RDeepGP(nugget=1 / 3).arguments() if word.startswith("nugget="))
    assert float(word.removeprefix("nugget=")) == 1 / 3


@pytest.mark.parametrize("model", [RHomGP(), RHetGP(), RDeepGP(), RLocalGP()])
def test_every_package_is_looked_for(model) -> None:
    assert model.package in PACKAGES


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: RHomGP(kernel="matern"), "kernel must be one of 'matern52', 'squared-exponential', got 'matern'"),
        (lambda: RHetGP(kernel="x; quit()"), "kernel must be one of"),
        (lambda: RDeepGP(kernel="rbf"), "kernel must be one of"),
        (lambda: RDeepGP(n_samples=1), "n_samples must be a whole number of at least 2, got 1"),
        (lambda: RDeepGP(n_burn_in=0), "n_burn_in must be a whole number of at least 1, got 0"),
        (lambda: RDeepGP(thinning=0.5), "thinning must be a whole number of at least 1, got 0.5"),
        (lambda: RDeepGP(nugget=0), "nugget must be positive and finite, got 0"),
        (lambda: RLocalGP(n_neighbours=6), "n_neighbours must be a whole number of at least 7, got 6"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        make()
