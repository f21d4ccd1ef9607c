"""Campaign: proposes runs, hands them out, takes results, and survives every crash, because the database is its state.

Ask and tell, paper section 4.3. Who proposes is a `Proposer`; what may happen to a trial is in `ledger`; how trials are
run is in `running` and `worker`.
"""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, TypeVar, overload
from uuid import uuid4

import numpy as np

from genbayes.campaign.proposer_registry import (
    DEFAULT_PROPOSER,
    Shown,
    check_proposer,
    ignores_runs,
    make_proposer,
    propose_points,
)
from genbayes.campaign.responses import DEFAULT_NAMES, check_names, check_responses, find_response, show
from genbayes.campaign.trial import (
    DAY,
    FIRST_COLUMNS,
    LAST_COLUMNS,
    MAX_ATTEMPTS,
    PATIENCE,
    LeaseTerms,
    Outcome,
    Record,
    Settings,
    Status,
    Trial,
    check_same_space,
    check_space,
    to_frame,
)
from genbayes.data import Box
from genbayes.data.box import Point
from genbayes.errors import BudgetSpent, InvalidInput, MissingExtra, RepeatKept, RunFailed
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import check_choice, check_count, check_nonnegative
from genbayes.writing import visible

if TYPE_CHECKING:
    import pandas as pd

    from genbayes.auto import AutoSurrogate
    from genbayes.campaign.learning_curve import LearningCurve
    from genbayes.campaign.running import Tally
    from genbayes.campaign.store import Store
    from genbayes.design import Proposer
    from genbayes.models.protocols import Fits


Model = TypeVar("Model", bound="Fits")

RUNS_PER_INPUT = 10  # of the initial design: the rule of Loeppky, Sacks and Welch (2009)
N_TRIES = 3  # to propose while others add trials; then what was proposed stands


class Campaign:
    """A series of runs of a simulator, kept in a database; made by `create` or `open`.

    Any number of processes and machines may hold the same campaign at once.

    Attributes:
        name: What it is called.
        space: Its inputs.
        settings: What it was created with.
    """

    def __init__(self, store: Store, proposer: Proposer | None = None) -> None:
        self._store = store
        self._proposer = proposer
        self.name, self.space, self.settings = store.name, store.space, store.settings

    @classmethod
    def create(
        cls,
        url: str,
        name: str,
        space: Box | Mapping[str, Any],
        *,
        n_initial: int | None = None,
        initial: str = "latin",
        lease_seconds: float = DAY,
        budget: int | None = None,
        max_attempts: int | None = MAX_ATTEMPTS,
        proposer: str | Proposer = DEFAULT_PROPOSER,
        responses: Sequence[str] = DEFAULT_NAMES,
        random_state: RandomState = None,
        patience: float = PATIENCE,
    ) -> Campaign:
        """Begin a campaign with an initial design.

        Args:
            url: Where it is kept: `sqlite:///rocket.db`, or `postgresql://user@host/database` for many machines.
            name: What to call it; one database holds many.
            space: The inputs.
            n_initial: Trials of the initial design; None for ten an input.
            initial: How they are spread: "latin" hypercube or "sobol" sequence.
            lease_seconds: How long a trial is the asker's before it is offered to others.
            budget: Trials in all, the initial ones included; None for no limit.
            max_attempts: Leases of one trial that may lapse before it is given up as failed; None for any number.
            proposer: Who proposes the trials after the initial ones: a name, or an object of yours.
            responses: What each run gives, by name; the proposer and the page look at the first.
            random_state: Seed of the initial design and of what is proposed.
            patience: Seconds to wait for a database that is locked or out of reach.

        Returns:
            The campaign.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     campaign = Campaign.create(f"sqlite:///{folder}/a.db", "a", {"x": (0, 1)}, random_state=0)
            ...     trial = campaign.ask()
            ...     campaign.tell(trial, y=trial.x["x"] ** 2)
            ...     campaign.status().n_done, campaign.status().n_open
            'counted'
            (1, 9)
        """
        space = check_space(space if isinstance(space, Box) else Box(space), responses)
        n = RUNS_PER_INPUT * space.d if n_initial is None else check_count(n_initial, "n_initial", 0)
        settings = Settings(
            seed=_draw_seed(random_state),
            n_initial=n,
            initial=check_choice(initial, "initial", ["latin", "sobol"]),
            proposer=check_proposer(proposer),
            lease_seconds=check_nonnegative(lease_seconds, "lease_seconds", strictly=True),
            budget=None if budget is None else check_count(budget, "budget"),
            max_attempts=None if max_attempts is None else check_count(max_attempts, "max_attempts"),
            responses=check_names(responses, [*space.names, *FIRST_COLUMNS, *LAST_COLUMNS]),
        )
        spread = {"latin": space.latin_hypercube, "sobol": space.sobol}[settings.initial]
        points = space.from_unit(spread(n, as_generator(settings.seed)))
        store = _store_class().create(url, name, space, settings, points, patience)
        return cls(store, None if isinstance(proposer, str) else proposer)

    @classmethod
    def open(
        cls,
        url: str,
        name: str,
        space: Box | Mapping[str, Any] | None = None,
        *,
        proposer: Proposer | None = None,
        patience: float = PATIENCE,
    ) -> Campaign:
        """Go on with a campaign that is there, after a crash or from another machine.

        Args:
            url: Where it is kept.
            name: What it is called.
            space: The inputs you expect it to have; None to take those it has.
            proposer: Who proposes; None for the proposer given to `create`.
            patience: Seconds to wait for a database that is locked or out of reach.

        Returns:
            The campaign.
        """
        store = _store_class().open(url, name, patience)
        if space is not None:
            check_same_space(space if isinstance(space, Box) else Box(space), store.space, name)
        return cls(store, proposer)

    @overload
    def ask(self, n: None = None, *, worker: str | None = None, lease_seconds: float | None = None) -> Trial: ...
    @overload
    def ask(self, n: int, *, worker: str | None = None, lease_seconds: float | None = None) -> list[Trial]: ...
    def ask(
        self, n: int | None = None, *, worker: str | None = None, lease_seconds: float | None = None
    ) -> Trial | list[Trial]:
        """The next trial to run, or the next n; nobody else is given it while the lease lasts.

        Args:
            n: How many; None for one, not in a list.
            worker: Who asks; None for host and process.
            lease_seconds: How long it is yours; None for the campaign's.

        Returns:
            The trial, or up to n of them where the budget ends.

        Raises:
            BudgetSpent: Every trial of the budget has been handed out.
        """
        trials = self.take(1 if n is None else check_count(n, "n"), worker=worker, lease_seconds=lease_seconds)
        if not trials:
            status = self.status()
            raise BudgetSpent(
                f"The budget of {status.budget} trials is spent; {status.n_out} of them have not ended yet"
            )
        return trials[0] if n is None else trials

    def take(
        self,
        n: int,
        *,
        worker: str | None = None,
        lease_seconds: float | None = None,
        budget: int | None = None,
    ) -> list[Trial]:
        """Up to n trials, fewer or none where the budget ends; what `ask`, `run` and workers stand on.

        Args:
            n: How many.
            worker: Who asks; None for host and process.
            lease_seconds: How long they are the asker's; None for the campaign's.
            budget: Trials in all; None for the campaign's.

        Returns:
            The trials.
        """
        seconds = self.settings.lease_seconds if lease_seconds is None else lease_seconds
        terms = LeaseTerms(
            seconds=check_nonnegative(seconds, "lease_seconds", strictly=True),
            worker=visible(worker or _default_worker()),
            budget=self.settings.budget if budget is None else budget,
        )
        trials = self._lease(n, terms, draw=self._draw if ignores_runs(self._proposer) else None) or []
        n_more = n - len(trials)
        if n_more and (terms.budget is None or self._store.count() < terms.budget):
            trials += self._propose(n_more, terms)
        return trials

    def _propose(self, n: int, terms: LeaseTerms) -> list[Trial]:
        """Up to n new trials, where a proposer wants to have the runs or those that others hand back meanwhile."""
        if ignores_runs(self.proposer):
            return self._lease(n, terms, draw=self._draw) or []
        trials: list[Trial] = []
        for tries_left in reversed(range(N_TRIES)):
            if len(trials) == n:
                break
            shown = self._store.runs()
            n_more = n - len(trials) if terms.budget is None else min(n - len(trials), terms.budget - shown.n_trials)
            if n_more <= 0:
                break
            # Those who collide part ways.
            rng = self._stream(shown.n_trials) if tries_left == N_TRIES - 1 else np.random.default_rng()
            points = propose_points(self.proposer, self.space, shown, n_more, rng)
            added = self._lease(len(points), terms, points, shown.n_trials if tries_left else None)
            trials += (self._lease(n - len(trials), terms) or []) if added is None else added
        return trials

    def _draw(self, n_trials: int, n: int) -> list[Point]:
        """The inputs of the next n trials, by a proposer that looks at no runs."""
        nothing = np.empty((0, self.space.d))
        shown = Shown(n_trials, nothing, np.empty(0), nothing)
        return propose_points(self.proposer, self.space, shown, n, self._stream(n_trials))

    def _stream(self, n_trials: int) -> np.random.Generator:
        """One stream of random numbers a trial, so that a resumed campaign proposes what it would have."""
        return np.random.default_rng([self.settings.seed, n_trials])

    def _lease(
        self,
        n: int,
        terms: LeaseTerms,
        points: Sequence[Point] = (),
        expected: int | None = None,
        draw: Callable[[int, int], list[Point]] | None = None,
    ) -> list[Trial] | None:
        """Up to n trials, new ones at `points` included; None where others have added trials to those `expected`."""
        request = uuid4().hex  # one for all attempts: a transaction that is repeated is known by it
        return self._store.write(lambda ledger: ledger.ask(n, terms, request, points, expected, draw))

    @property
    def proposer(self) -> Proposer:
        """Who proposes the trials after the initial ones; made when first needed."""
        if self._proposer is None:
            self._proposer = make_proposer(self.settings.proposer, self.name)
        return self._proposer

    def add(self, points: Iterable[Mapping[str, Any]] | pd.DataFrame) -> list[int]:
        """Add trials at inputs of your own, to be handed out before any that are proposed; repeats are welcome.

        Args:
            points: The inputs, by name; a frame has a row for each.

        Returns:
            The numbers of the trials.
        """
        rows: list[Any] = points.to_dict("records") if hasattr(points, "to_dict") else list(points)
        taken, request = [self.space.take(row) for row in rows], uuid4().hex
        return self._store.write(lambda ledger: ledger.add(taken, "added", request))

    def tell(self, trial: Trial | int, y: object) -> Outcome:
        """Record the result of a run; when this returns, it is in the database.

        The first result of a trial counts, whatever became of its lease. Another is kept as a repeat, with a warning.
        The same again changes nothing. What is no finite number fails the trial, with a warning; so does a wrong count.

        Args:
            trial: The trial, or its number.
            y: The response; of several a sequence in the order of their names, or a mapping by name.

        Returns:
            "counted", "repeat", "again" or "failed".
        """
        number, lease = _number_and_lease(trial)
        try:
            values = check_responses(y, self.settings.responses)
        except InvalidInput as error:
            self.fail(trial, str(error))
            warnings.warn(f"{error}; trial {number} was recorded as failed", RunFailed, stacklevel=2)
            return "failed"
        worker = _default_worker()
        outcome = self._store.write(lambda ledger: ledger.tell(number, lease, values[0], worker, values[1:]))
        if outcome == "repeat":
            shown = show(values, self.settings.responses)
            warnings.warn(
                f"Trial {number} already has a result; {shown} was kept as a repeat and does not count",
                RepeatKept,
                stacklevel=2,
            )
        return outcome

    def fail(self, trial: Trial | int, reason: str) -> Outcome:
        """Record that a run failed.

        Args:
            trial: The trial, or its number.
            reason: Why, for those who read the status.

        Returns:
            "failed"; "again" where it had failed; "late" where it is done or belongs to another now: nothing changes.
        """
        number, lease = _number_and_lease(trial)
        return self._store.write(lambda ledger: ledger.fail(number, lease, visible(str(reason))))

    def renew(self, trial: Trial) -> None:
        """Begin the lease of a long run anew.

        Raises:
            LeaseLost: The trial belongs to another now, or is finished; a result may still be told.
        """
        self._store.write(lambda ledger: ledger.renew(trial.number, trial.lease, trial.lease_seconds))

    def release(self, trial: Trial) -> bool:
        """Hand a trial back, to be offered at once; False where it was not yours any more."""
        return self._store.write(lambda ledger: ledger.release(trial.number, trial.lease))

    def run(
        self,
        simulator: Callable[[Point], object],
        budget: int | None = None,
        *,
        seconds: float | None = None,
        executor: Executor | None = None,
        n_at_once: int | None = None,
        n_failures_in_row: int = 20,
    ) -> Tally:
        """Ask, simulate, tell, until the budget is spent; a simulator that raises fails its trial.

        Args:
            simulator: A function of the inputs, a dictionary, that returns the response, or several as `tell` takes.
            budget: Trials in all, those before this call included; None for the campaign's.
            seconds: Time after which no further run is begun; None for no limit.
            executor: Runs the simulator elsewhere: processes, threads, Dask, MPI; None for here.
            n_at_once: Runs under way at once; None for as many as the executor has workers.
            n_failures_in_row: Failures one after another that stop it.

        Returns:
            How many runs ended how.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     campaign = Campaign.create(f"sqlite:///{folder}/a.db", "a", {"x": (0, 1)}, random_state=0)
            ...     campaign.run(lambda x: x["x"] ** 2, budget=12).n_done
            12
        """
        from genbayes.campaign.running import run_trials

        if budget is None and seconds is None and self.settings.budget is None:
            raise InvalidInput("budget or seconds must be given, because the campaign has no budget, got neither")
        return run_trials(
            self,
            simulator,
            budget=None if budget is None else check_count(budget, "budget"),
            seconds=None if seconds is None else check_nonnegative(seconds, "seconds"),
            executor=executor,
            n_at_once=n_at_once,
            n_failures_in_row=check_count(n_failures_in_row, "n_failures_in_row"),
        )

    @overload
    def surrogate(self, model: None = None, *, response: str | None = None) -> AutoSurrogate: ...
    @overload
    def surrogate(self, model: Model, *, response: str | None = None) -> Model: ...
    def surrogate(self, model: Model | None = None, *, response: str | None = None) -> Model | AutoSurrogate:
        """A surrogate fitted to every result that counts.

        Args:
            model: The model to fit, unfitted; None for an `AutoSurrogate`, which chooses.
            response: Which response, by name; None for the first.

        Returns:
            The fitted model; its inputs are the columns of `space`.
        """
        which = find_response(response, self.settings.responses)
        done = [record for record in self._store.records() if record.state == "done"]
        if not done:
            raise InvalidInput("At least one result is needed to fit a surrogate; run some trials first")
        X, y = self.space.to_frame(record.x for record in done), np.array([record.responses[which] for record in done])
        if model is not None:
            model.fit(X, y)
            return model
        from genbayes.auto import AutoSurrogate

        return AutoSurrogate(categorical=self.space.categorical or None, random_state=self.settings.seed).fit(X, y)

    def to_frame(self) -> pd.DataFrame:
        """One row a trial: number, state (open, running, done, failed), inputs, responses, worker, times, reason."""
        return to_frame(self._store.records(), self.space, self.settings.responses)

    def records(self) -> list[Record]:
        """Every trial as the database has it, by number."""
        return self._store.records()

    def learning_curve(
        self, model: Fits | None = None, *, response: str | None = None, verbose: bool = False
    ) -> LearningCurve:
        """How the error fell with the runs: CRPS of unseen runs against their number.

        Args:
            model: The model that is cross-validated, unfitted; None for the one that the proposer would ask.
            response: Which response, by name; None for the first.
            verbose: Whether to show what is being done.

        Returns:
            The curve; empty, with its `reason`, where there are too few runs or nothing to learn.
        """
        from genbayes.campaign.learning_curve import learn_from_records

        which = find_response(response, self.settings.responses)
        return learn_from_records(self.records(), self.space, self.settings.seed, model, which, verbose=verbose)

    def status(self) -> Status:
        """Where the campaign stands."""
        return self._store.status()

    @property
    def url(self) -> str:
        """Where it is kept, without a password."""
        return self._store.database.shown_url

    def __repr__(self) -> str:
        return f"Campaign({self.name!r} in {self.url!r})"


def _number_and_lease(trial: Trial | int) -> tuple[int, int | None]:
    """A bare number comes without a lease."""
    return (trial.number, trial.lease) if isinstance(trial, Trial) else (check_count(trial, "trial"), None)


def _default_worker() -> str:
    """Host and process."""
    return f"{socket.gethostname()}:{os.getpid()}"


def _store_class() -> type[Store]:
    """Where campaigns are kept, or what must be installed first."""
    try:
        from genbayes.campaign.store import Store
    except ModuleNotFoundError as error:
        if error.name != "sqlalchemy":
            raise
        raise MissingExtra(
            "sqlalchemy must be installed for campaigns, got none; pip install 'genbayes[design]'"
        ) from error
    return Store


def _draw_seed(random_state: RandomState) -> int:
    """The seed that a campaign keeps: an integer as it is, one drawn from anything else."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(as_generator(random_state).integers(2**31))
