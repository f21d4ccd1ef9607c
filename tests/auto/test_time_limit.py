"""The time limit of AutoSurrogate: kept within its margin, used sparingly, and refused where nothing fits into it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from genbayes import AutoSurrogate, InvalidInput

Timed = Callable[..., tuple[AutoSurrogate, float]]

LATE = 1.1  # times the limit; the promise is the larger of 10% and 5 s

pytestmark = pytest.mark.usefixtures("clock")


@pytest.fixture
def timed(clock) -> Timed:
    """Fit with a limit; the model and the time that it took, by the clock of the test."""

    def fit(candidates: dict[str, Any], limit: float | None, n: int = 60) -> tuple[AutoSurrogate, float]:
        rng = np.random.default_rng(0)
        started = clock.read()
        model = AutoSurrogate(candidates=candidates, time_limit=limit, random_state=0)
        model.fit(rng.uniform(size=(n, 1)), rng.standard_normal(n))
        return model, clock.read() - started

    return fit


def test_many_slow_candidates_end_by_the_limit(fakes, timed) -> None:
    model, seconds = timed({f"slow {k}": fakes.Slow(0.15, shift=k) for k in range(10)}, 0.6)
    assert seconds <= LATE * 0.6
    assert model.report_.chosen[0] == "slow 0"
    assert "no time" in {e.note for e in model.report_.entries}


def test_one_that_alone_had_time_is_not_said_to_be_better(fakes, timed) -> None:
    for n_others, said in ((1, "one other had no time."), (2, "2 others had no time.")):
        slow = {f"slow {k}": fakes.Slow(60) for k in range(n_others)}
        reason = timed({"bell": fakes.Bell(), **slow}, 0.4)[0].report_.reason
        assert reason == f"Only the Bell finished in time; {said}"


def test_a_limit_too_short_for_anything_is_refused(fakes, timed) -> None:
    with pytest.raises(
        InvalidInput, match=r"time_limit must leave time for at least one .*got 0.05 .*60 rows; raise it"
    ):
        timed({"slow": fakes.Slow(60), "slower": fakes.Slow(90)}, 0.05)


def test_until_something_has_worked_all_the_time_may_be_spent_on_it(fakes, timed) -> None:
    model, seconds = timed({"slow": fakes.Slow(0.6)}, 1.0)  # beyond the share that screening has otherwise
    assert model.report_.chosen == ("slow",)
    assert seconds <= LATE * 1.0


def test_a_run_out_of_time_returns_the_model_of_the_first_fold(fakes, timed) -> None:
    model, _ = timed({"slow": fakes.Slow(0.6)}, 1.0, n=50)
    assert len(model.combination_.models[0].y_) == 40
    assert model.report_.n_scored == 10
    assert np.isfinite(model.predict([[0.5]])).all()


def test_a_crash_and_a_lack_of_time_are_told_apart(fakes, timed) -> None:
    with pytest.raises(InvalidInput, match=r"got none \(broken: RuntimeError: the oven is cold; slow: no time\)"):
        timed({"broken": fakes.Broken(), "slow": fakes.Slow(60)}, 0.3)


def test_a_slow_candidate_does_not_take_the_time_of_those_that_are_done(fakes, timed) -> None:
    model, seconds = timed({"bell": fakes.Bell(), "slow": fakes.Slow(60)}, 0.4)
    assert model.report_.chosen == ("bell",)
    assert len(model.combination_.models[0].y_) == 60  # fitted to all rows
    assert seconds <= LATE * 0.4


def test_with_time_enough_the_limit_changes_nothing(fakes, timed) -> None:
    candidates = {"low": fakes.Bell(-0.5), "high": fakes.Bell(0.7)}
    free, limited = (timed(candidates, limit)[0].report_ for limit in (None, 60.0))
    assert (free.crps, free.chosen, free.n_scored) == (limited.crps, limited.chosen, limited.n_scored)


def test_nothing_is_begun_when_no_time_is_left(fakes, timed, clock) -> None:
    """Models that never ask for the time cannot be stopped, but they need not be started."""

    class Stubborn(fakes.Bell):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            clock.turn(0.2)
            return super().fit(X, y, sample_weight)

    model, seconds = timed({f"stubborn {k}": Stubborn(shift=k) for k in range(8)}, 0.2)
    assert seconds <= 0.2 + 0.2
    assert model.report_.chosen == ("stubborn 0",)
