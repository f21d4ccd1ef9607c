import numpy as np
import pytest

from genbayes.models.gp.likelihood import GPParameters, Replicates, degrees_of_freedom


def test_noise_is_the_nugget_in_units_of_the_process_variance() -> None:
    assert GPParameters(np.ones(1), nugget=0.1, variance=3.0, mean=0.0).noise == pytest.approx(0.3)


@pytest.mark.parametrize(("weight", "expected"), [(1.0, 3.0), (2.0, 7.0), (0.1, 0.2)])
def test_degrees_of_freedom_stay_positive_for_small_weights(weight: float, expected: float) -> None:
    runs = Replicates.collect(np.arange(4.0)[:, None], np.zeros(4), np.full(4, weight))
    assert degrees_of_freedom(runs) == pytest.approx(expected)
