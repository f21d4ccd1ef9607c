"""What choosing costs: time of AutoSurrogate over that of one network and one GP, and whether time limits are kept."""

from __future__ import annotations

from genbayes import AutoSurrogate, QuantileSurrogate
from genbayes.models import StationaryGP
from genbayes_bench.problems import draw_friedman
from genbayes_bench.studies.speed.result import timed

__all__ = ["print_budget"]

LIMITS = (10.0, 30.0, 60.0)  # seconds
MOST = 15  # times one network and one GP
SLACK, LATEST = 0.1, 5.0  # of a limit, and seconds: the larger counts


def print_budget(n: int = 2_000) -> None:
    """Fit to Friedman's function, n runs of ten inputs, and print the times."""
    split = draw_friedman(0, n, 100)
    X, y = split.X_train, split.y_train
    _, network = timed(lambda: QuantileSurrogate(random_state=0).fit(X, y))
    _, gp = timed(lambda: StationaryGP(random_state=0).fit(X, y))
    _, auto = timed(lambda: AutoSurrogate(random_state=0).fit(X, y))
    ratio = auto / (network + gp)
    print(
        f"no limit, n = {n:,}: {auto:.0f} s, {ratio:.1f} times {network:.1f} + {gp:.1f} s (at most {MOST})", flush=True
    )
    for limit in LIMITS:
        _, took = timed(lambda limit=limit: AutoSurrogate(time_limit=limit, random_state=0).fit(X, y))
        kept = took <= limit + max(SLACK * limit, LATEST)
        print(f"time_limit={limit:g}: {took:.1f} s, {'kept' if kept else 'NOT KEPT'}", flush=True)
