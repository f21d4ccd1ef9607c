"""scikit-learn's own checks, all of them, none expected to fail."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from genbayes import QuantileSurrogate

SMALL = QuantileSurrogate(n_epochs=150, n_hidden=16, n_members=2, dropout=0.0, random_state=0)


def name_of(case: object) -> str:
    return getattr(getattr(case, "func", case), "__name__", "estimator")


@pytest.mark.parametrize(("estimator", "check"), list(estimator_checks_generator(SMALL)), ids=name_of)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_check(estimator, check) -> None:
    check(estimator)
