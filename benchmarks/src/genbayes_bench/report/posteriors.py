"""Tables of posteriors: C2ST of ours and of sbi's flows, errors where the posterior is known, calibration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from genbayes.report.page import format_share
from genbayes_bench.record import Record
from genbayes_bench.report.labels import method_title, problem_title
from genbayes_bench.report.tables import NONE, Bold, Table

OURS, FLOWS, CALIBRATION = "posterior", ("sbi-nsf", "sbi-maf"), "posterior-sbc"
POSTERIORS = "Posteriors: C2ST against the true posterior"
HOPELESS = 0.98  # where two C2ST both exceed it, neither posterior is of use: a tie
TESTED = ("two_moons", "gaussian_mixture", "slcp", "sir", "lotka_volterra")  # with 1,000 and 10,000 simulations
SIZES = (1_000, 10_000)
SHARE_OF_SECONDS = 0.2  # of the better flow's, that ours may take
HOLM = 0.05

Scores = Mapping[tuple[int, int], float]  # C2ST by seed and observation


@dataclass(frozen=True)
class Duel:
    """Ours against the better flow on one task and number of simulations.

    Attributes:
        gap: Mean difference of the C2ST, ours less theirs, over observations and the seeds that both have.
        error: Its standard error over observations.
        seconds: Our cpu seconds to learn over theirs.
        verdict: "below", "above" or "tie".
    """

    gap: float
    error: float
    seconds: float
    verdict: str

    @property
    def is_clearly_above(self) -> bool:
        """Whether ours is worse by more than two standard errors."""
        return self.verdict != "tie" and self.gap > 2 * self.error


def posterior_tables(records: Sequence[Record]) -> list[Table]:
    """Every table that these records have something for; the others have no rows."""
    return [c2st_table(records), closed_form_table(records), calibration_table(records)]


def c2st_table(records: Sequence[Record]) -> Table:
    """One row a task and number of simulations: C2ST with standard errors, cpu seconds, and who is nearer."""
    methods = [name for name in _methods(records) if any("c2st" in r.scores for r in records if r.method == name)]
    head = ["task", "n", *(method_title(name) for name in methods), "ours less the better flow's", "seeds"]
    rows = []
    for problem, n in _contests(records):
        found = {name: c2st_scores(records, problem, n, name) for name in methods}
        if not any(found.values()):
            continue
        best = min((name for name in methods if found[name]), key=lambda name: np.mean(list(found[name].values())))
        cells = [_c2st_cell(found[name], _seconds(records, problem, n, name), name == best) for name in methods]
        duel, seeds = make_duel(records, problem, n), {seed for scores in found.values() for seed, _ in scores}
        gap = NONE if duel is None else f"{duel.gap:+.3f} ± {duel.error:.3f}, {duel.verdict}".replace("-", "−")
        rows.append([problem_title(problem), f"{n:,}", *cells, gap, str(len(seeds))])
    return Table(POSTERIORS, head, rows, _verdicts(records) if rows else [])


def c2st_scores(records: Iterable[Record], problem: str, n: int, method: str) -> dict[tuple[int, int], float]:
    """C2ST by seed and observation."""
    own = [r for r in records if (r.problem, r.n_train, r.method) == (problem, n, method) and r.error is None]
    return {
        (record.replicate, int(name.removeprefix("c2st_"))): value
        for record in own
        for name, value in record.scores.items()
        if name.startswith("c2st_")
    }


def make_duel(records: Sequence[Record], problem: str, n: int) -> Duel | None:
    """Ours against the flow of the lower mean, or None where one of them is missing."""
    ours = c2st_scores(records, problem, n, OURS)
    flows = {name: c2st_scores(records, problem, n, name) for name in FLOWS}
    means = {name: float(np.mean([s[key] for key in s if key in ours])) for name, s in flows.items() if s.keys() & ours}
    if not means:
        return None
    better = min(means, key=lambda name: means[name])
    shared = sorted(ours.keys() & flows[better].keys())
    by_observation: dict[int, list[float]] = {}
    for key in shared:
        by_observation.setdefault(key[1], []).append(ours[key] - flows[better][key])
    gaps = np.array([np.mean(values) for values in by_observation.values()])
    gap = float(gaps.mean())
    error = float(gaps.std(ddof=1) / math.sqrt(len(gaps))) if len(gaps) > 1 else math.nan
    both_hopeless = min(float(np.mean([ours[key] for key in shared])), means[better]) > HOPELESS
    seconds = _seconds(records, problem, n, OURS) / _seconds(records, problem, n, better)
    return Duel(gap, error, seconds, "tie" if both_hopeless else "below" if gap < 0 else "above")


def _verdicts(records: Sequence[Record]) -> list[str]:
    """What the duels of the tasks that are tested come to, in words."""
    duels = {(p, n): make_duel(records, p, n) for p in TESTED for n in SIZES}
    known = {key: duel for key, duel in duels.items() if duel is not None}
    notes = [
        "n simulations. C2ST: the share of draws that a classifier gives to the right one of the method's and the true "
        "posterior's, 0.5 if nobody can tell them apart, less is better; means over observations and seeds with "
        "standard errors over these, then cpu seconds to learn, on one thread. The difference is paired, its standard "
        "error over observations."
    ]
    if known:
        counts = {word: sum(duel.verdict == word for duel in known.values()) for word in ("below", "tie", "above")}
        clearly = [f"{problem_title(p)} {n:,}" for (p, n), duel in known.items() if duel.is_clearly_above]
        slow = [f"{problem_title(p)} {n:,}" for (p, n), duel in known.items() if duel.seconds > SHARE_OF_SECONDS]
        notes.append(
            f"Of {len(known)} pairs of task and size among {len(duels)}, ours has the lower C2ST than the better flow "
            f"on {counts['below']}, ties on {counts['tie']} (both above {HOPELESS}) and has the higher on "
            f"{counts['above']}; higher by more than two standard errors: {', '.join(clearly) or 'none'}. "
            f"More than a fifth of that flow's cpu seconds: {', '.join(slow) or 'none'}."
        )
    return notes


def closed_form_table(records: Sequence[Record]) -> Table:
    """Errors against posteriors that are known in closed form."""
    names = {
        "mean_error": "largest error of a mean (sd)",
        "cov_error": "largest error of a covariance (sd²)",
        "mass_error": "largest error of a mode's mass",
        "wasserstein": "largest Wasserstein distance",
    }
    rows = []
    for problem, n in _contests(records):
        for method in _methods(records):
            own = [r for r in records if (r.problem, r.n_train, r.method) == (problem, n, method)]
            if own and any(name in own[0].scores for name in names):
                cells = [_mean_cell([r.scores[name] for r in own if name in r.scores]) for name in names]
                rows.append([problem_title(problem), f"{n:,}", method_title(method), *cells, str(len(own))])
    return Table(
        "Posteriors known in closed form", ["task", "simulations", "method", *names.values(), "seeds"], rows,
        ["Means over seeds of the largest error over observations."] if rows else [],
    )  # fmt: skip


def calibration_table(records: Sequence[Record]) -> Table:
    """Simulation-based calibration: p-values of uniform ranks, and how often regions hold theta."""
    own = [record for record in records if record.method == CALIBRATION]
    head = ["task", "simulations", "smallest p of a margin", "p of the joint density", "50%", "90%", "95%", "seeds"]
    rows = []
    for record in own:
        margins = [value for name, value in record.scores.items() if name.startswith("p_") and name != "p_joint"]
        regions = [record.scores.get(f"region_{level}") for level in (50, 90, 95)]
        shown = [NONE if share is None else format_share(share) for share in regions]
        p = [f"{min(margins):.3f}", f"{record.scores['p_joint']:.3f}"]
        rows.append([problem_title(record.problem), f"{record.n_train:,}", *p, *shown, "1"])
    return Table("Calibration of our posteriors over the prior predictive", head, rows, _holm(own) if rows else [])


def _holm(records: Sequence[Record]) -> list[str]:
    """Which p-values reject uniform ranks after Holm's correction over all of them."""
    found = {(r.problem, name): p for r in records for name, p in r.scores.items() if name.startswith("p_")}
    rejected: list[str] = []
    for i, (key, p) in enumerate(sorted(found.items(), key=lambda item: item[1])):
        if p > HOLM / (len(found) - i):
            break
        rejected.append(f"{problem_title(key[0])} {key[1].removeprefix('p_')} (p = {p:.2g})")
    return [
        f"Ranks of {int(records[0].detail.get('n_repeats', 0))} fresh pairs; the last columns are the shares of "
        f"conformal regions of these levels that hold theta. Of {len(found)} tests, Holm's correction at 5% rejects "
        f"uniform ranks for: {', '.join(rejected) or 'none'}."
    ]


def _contests(records: Iterable[Record]) -> list[tuple[str, int]]:
    """Tasks in the order of the study, each with its sizes."""
    found = {(record.problem, record.n_train) for record in records}
    order = [*TESTED, *sorted({problem for problem, _ in found} - set(TESTED))]
    return sorted(found, key=lambda contest: (order.index(contest[0]), contest[1]))


def _methods(records: Iterable[Record]) -> list[str]:
    there = {record.method for record in records} - {CALIBRATION}
    first = [name for name in (OURS, *FLOWS) if name in there]
    return [*first, *sorted(there - set(first))]


def _seconds(records: Iterable[Record], problem: str, n: int, method: str) -> float:
    found = [
        r.scores["cpu_seconds"]
        for r in records
        if (r.problem, r.n_train, r.method) == (problem, n, method) and "cpu_seconds" in r.scores
    ]
    return float(np.mean(found)) if found else math.nan


def _c2st_cell(scores: Scores, seconds: float, is_best: bool) -> str:
    if not scores:
        return NONE
    values = np.array(list(scores.values()))
    error = f" ± {values.std(ddof=1) / math.sqrt(len(values)):.3f}" if len(values) > 1 else ""
    text = f"{values.mean():.3f}{error}, {seconds:.0f} s"
    return Bold(text) if is_best else text


def _mean_cell(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f}" if values else NONE
