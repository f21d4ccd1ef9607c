import numpy as np
import pytest

from genbayes.diagnostics.observations import Observations
from genbayes.distribution import Normal
from genbayes.errors import InvalidInput


def test_weights_become_shares() -> None:
    rows = Observations.of(Normal(np.zeros(3), 1.0), [3.0, 1.0, 2.0], [1e308, 1e308, 2e307])
    np.testing.assert_allclose(rows.share, np.array([5, 5, 1]) / 11)


def test_rows_are_sorted_together() -> None:
    rows = Observations.of(Normal([3.0, 1.0, 2.0], 1.0), [3.0, 1.0, 2.0], [3.0, 1.0, 2.0]).sorted()
    assert rows.y.tolist() == rows.predicted.mean().tolist() == (6 * rows.share).round(9).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("weight", "n_effective", "slack"), [([2, 2, 2], 3.0, 0), ([1, 1, 2], 16 / 6, 1)])
def test_unequal_weights_count_for_fewer_rows(weight: list[float], n_effective: float, slack: int) -> None:
    rows = Observations.of(Normal(np.zeros(3), 1.0), np.zeros(3), weight)
    assert (rows.n_effective, rows.slack) == (pytest.approx(n_effective), slack)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -2.0, 1.0], "weight must be zero or positive"),
        ([0.0, 0.0, 1.0], "y must hold at least 2 rows of positive"),
    ],
)
def test_weights_that_leave_nothing_to_judge_are_refused(weight: list[float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Observations.of(Normal(np.zeros(3), 1.0), np.zeros(3), weight)
