import numpy as np

from genbayes.models.regimes.failure import learn_where_runs_fail

X = np.random.default_rng(0).uniform(size=(40, 2))
FAILED = X[:, 0] > 0.7


def test_what_is_known_is_kept_until_another_run_fails() -> None:
    first = learn_where_runs_fail(X, FAILED, np.random.default_rng(0))
    assert learn_where_runs_fail(X, FAILED, np.random.default_rng(0), first) is first
    more = np.append(FAILED, True)
    again = learn_where_runs_fail(np.vstack([X, [[0.9, 0.9]]]), more, np.random.default_rng(0), first)
    assert again is not first
    assert again.n_failed == FAILED.sum() + 1


def test_where_runs_fail_is_learnt_from_those_that_did() -> None:
    found = learn_where_runs_fail(X, FAILED, np.random.default_rng(0))
    low, high = found.model.probability(np.array([[0.2, 0.5], [0.95, 0.5]]))
    assert low < 0.2 < 0.8 < high
