"""The study of coverage: draws are honest and reproducible, lines say what they measured, the command runs."""

import numpy as np
import pytest

from genbayes import Normal
from genbayes_bench.problems.calibration import FAMILIES, draw_random, draw_replicated
from genbayes_bench.studies import __main__ as studies
from genbayes_bench.studies import calibration


@pytest.mark.parametrize("seed", range(len(FAMILIES)))
@pytest.mark.parametrize("d", [1, 3, 50])
def test_every_family_takes_any_number_of_inputs_and_a_seed_gives_the_same_runs(seed: int, d: int) -> None:
    split, again = draw_random(30, d, seed), draw_random(30, d, seed)
    np.testing.assert_array_equal(split.y_test, again.y_test)
    assert split.X_train.shape == (30, d)
    assert 0.3 < np.var(np.append(split.y_train, split.y_test)) < 3
    assert split.f_test is not None
    assert np.corrcoef(split.f_test, split.y_test)[0, 1] > 0.7


def test_replicated_designs_repeat_inputs_and_are_tested_at_new_ones() -> None:
    split = draw_replicated(30, 10, 4)
    inputs, count = np.unique(split.X_train, axis=0, return_counts=True)
    assert len(inputs) == 30
    assert set(count) == {10}
    assert not np.isin(split.X_test[:, 0], inputs[:, 0]).any()


def test_a_line_has_the_mean_over_draws_its_error_and_the_verdict() -> None:
    def exact(split, seed):
        return Normal(split.f_test, 1e-9 + np.std(split.y_test - split.f_test))

    (line,) = calibration.measure_sizes(exact, "the truth", [(40, 2)], 6)
    share, _, error = line.measured.split()
    assert line.what == "the truth, n = 40, d = 2: 90% intervals hold"
    assert 0.87 <= float(share) <= 1  # no noise at all in some draws
    assert 0 < float(error) < 0.05
    assert "6 draws; 50%: " in line.detail


@pytest.mark.slow
def test_the_command_prints_a_table_with_every_size(capsys) -> None:
    studies.main(["calibration", "gp", "--draws", "2"])
    printed = capsys.readouterr().out
    assert all(f"n = {n}, d = {d}" in printed for n, d in calibration.SIZES)


@pytest.mark.parametrize("words", [["calibration", "--draws", "1"], ["kriging", "--draws", "5"]])
def test_draws_are_for_two_studies_and_two_at_least(words: list[str], capsys) -> None:
    with pytest.raises(SystemExit):
        studies.main(words)
    assert "--draws must be at least 2, and is for the studies calibration and regimes" in capsys.readouterr().err
