import numpy as np

from genbayes.design.failing import AwareOfFailures, learn_where_runs_fail
from genbayes.design.process import DesignGP

X = np.random.default_rng(0).uniform(size=(40, 2))
FAILED = X[:, 0] > 0.7


def test_what_is_known_is_kept_until_another_run_fails() -> None:
    first = learn_where_runs_fail(X, FAILED, np.random.default_rng(0))
    assert learn_where_runs_fail(X, FAILED, np.random.default_rng(0), first) is first
    more = np.append(FAILED, True)
    again = learn_where_runs_fail(np.vstack([X, [[0.9, 0.9]]]), more, np.random.default_rng(0), first)
    assert again is not first
    assert again.n_failed == FAILED.sum() + 1


def test_a_model_that_is_aware_of_failures_is_otherwise_the_same() -> None:
    model = DesignGP().fit(X, X.sum(axis=1), np.random.default_rng(0))
    aware = AwareOfFailures(model, learn_where_runs_fail(X, FAILED, np.random.default_rng(0)))
    assert np.array_equal(aware.predict(X), model.predict(X))
    low, high = aware.predict_failure_probability(np.array([[0.2, 0.5], [0.95, 0.5]]))
    assert low < 0.2 < 0.8 < high
    dream = aware.imagine(X[:1])
    assert np.array_equal(dream.predict_failure_probability(X), aware.predict_failure_probability(X))
