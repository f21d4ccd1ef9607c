"""What travels between a campaign and those who run it: trials, settings, records as a table, where things stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from genbayes.campaign.responses import DEFAULT_NAMES
from genbayes.data import Box
from genbayes.data.box import Value
from genbayes.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

State = Literal["open", "running", "done", "failed"]
Outcome = Literal["counted", "repeat", "again", "failed", "late"]
DAY = 86_400.0
PATIENCE = 60.0  # seconds to wait for a database that is locked or out of reach
MAX_ATTEMPTS = 5  # lapsed leases of one trial: a few may have other causes, five are the run itself

# Inputs and responses stand between them, so none may have one of these names.
FIRST_COLUMNS = ("number", "state")
LAST_COLUMNS = ("worker", "source", "n_leases", "created", "started", "finished", "reason")


@dataclass(frozen=True)
class Trial:
    """One run to be made, handed out with a lease.

    Attributes:
        number: Which trial of the campaign, from 1.
        x: The inputs, by name.
        lease: The fencing token: each ask has its own, a later one a larger.
        lease_seconds: For how long the trial is the asker's; `renew` begins anew.
        worker: Who asked.
    """

    number: int
    x: Mapping[str, Value]
    lease: int
    lease_seconds: float = DAY
    worker: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For JSON.

        Example:
            >>> Trial(1, {"mach": 2.0}, lease=7).to_dict()
            {'number': 1, 'x': {'mach': 2.0}, 'lease': 7, 'lease_seconds': 86400.0, 'worker': ''}
        """
        return {**asdict(self), "x": dict(self.x)}


@dataclass(frozen=True)
class LeaseTerms:
    """On what terms trials are handed out.

    Attributes:
        seconds: How long a lease lasts.
        worker: Who asks.
        budget: Trials that may be handed out in all; None for no limit.
    """

    seconds: float
    worker: str
    budget: int | None = None


@dataclass(frozen=True)
class Settings:
    """What a campaign was created with, kept in its database.

    Attributes:
        seed: Seed of everything random.
        n_initial: Trials of the initial design.
        initial: How they are spread: "latin" or "sobol".
        proposer: Who proposes the trials after these.
        lease_seconds: How long a trial is the asker's unless another time is asked for.
        budget: Trials in all; None for no limit.
        max_attempts: Leases of one trial that may lapse before it is given up as failed; None for any number.
        responses: What each run gives, by name; a proposer looks at the first.
    """

    seed: int
    n_initial: int = 0
    initial: str = "latin"
    proposer: str = "random"
    lease_seconds: float = DAY  # suits a job that nobody watches; workers ask for less and renew
    budget: int | None = None
    max_attempts: int | None = None  # what campaigns of before this setting began with; `create` sets a limit
    responses: tuple[str, ...] = DEFAULT_NAMES

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Settings:
        """Settings as JSON has them, those of older campaigns included."""
        return cls(**{**kept, "responses": tuple(kept.get("responses", DEFAULT_NAMES))})


@dataclass(frozen=True)
class Record:
    """A trial as the database has it; times are seconds since 1970 by the database's clock.

    Attributes:
        number: Which trial.
        state: "open" (never asked for, handed back, or its lease lapsed), "running", "done" or "failed".
        x: The inputs.
        y: The response that counts, of a trial that is done; the first of several.
        reason: Why a failed trial failed.
        source: Where the inputs come from: "initial", "proposed" or "added".
        worker: Who asked last, or whose result counts.
        n_leases: How often it was handed out.
        has_lapsed: Whether it waits to be offered again because its lease ran out.
        created_at, started_at, finished_at: When; None for what has not happened.
        further: The responses after the first.
    """

    number: int
    state: State
    x: Mapping[str, Value]
    y: float | None
    reason: str | None
    source: str
    worker: str | None
    n_leases: int
    has_lapsed: bool
    created_at: float
    started_at: float | None
    finished_at: float | None
    further: tuple[float, ...] = ()

    @property
    def responses(self) -> tuple[float, ...]:
        """Every response of a trial that is done, in the order of their names; empty for others."""
        return () if self.y is None else (self.y, *self.further)


@dataclass(frozen=True)
class Status:
    """Where a campaign stands.

    Attributes:
        name: The campaign.
        n_done, n_running, n_failed, n_open: Trials by state; open ones wait for somebody to ask.
        n_lapsed: Those of the open ones whose lease ran out.
        n_out: Trials that were handed out and have not ended, whether their lease holds or not.
        n_lapses: Leases that ran out so far, whatever became of their trials.
        n_repeats: Results that came second for their trial: kept, not counted.
        budget: Trials in all; None for no limit.
        failures: The last failed trials, number and reason.
        workers: Trials that each worker holds now.
    """

    name: str
    n_done: int
    n_running: int
    n_failed: int
    n_open: int
    n_lapsed: int
    n_out: int
    n_lapses: int
    n_repeats: int
    budget: int | None
    failures: tuple[tuple[int, str], ...] = ()
    workers: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_trials(self) -> int:
        """Trials there are, in any state."""
        return self.n_done + self.n_running + self.n_failed + self.n_open

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "n_trials": self.n_trials}


def to_frame(records: Sequence[Record], space: Box, responses: Sequence[str] = DEFAULT_NAMES) -> pd.DataFrame:
    """A table of trials: number, state, inputs, responses, who ran it and when.

    Args:
        records: The trials.
        space: The inputs.
        responses: What the responses are called.

    Returns:
        One row a trial; times are in UTC.
    """
    import pandas as pd

    rows, no_response = [], (None,) * len(responses)
    for r in records:
        inputs = [r.x[name] for name in space.names]
        times = [r.created_at, r.started_at, r.finished_at]
        y = r.responses or no_response
        rows.append([r.number, r.state, *inputs, *y, r.worker, r.source, r.n_leases, *times, r.reason])
    frame = pd.DataFrame(rows, columns=[*FIRST_COLUMNS, *space.names, *responses, *LAST_COLUMNS])
    for column in ("created", "started", "finished"):
        frame[column] = pd.to_datetime(frame[column].astype(float), unit="s", utc=True)
    return frame.astype(dict.fromkeys(responses, float))


def check_space(space: Box, responses: Sequence[str]) -> Box:
    """The space, if none of its inputs is called like a column of a campaign's frame."""
    default = DEFAULT_NAMES if tuple(responses) == DEFAULT_NAMES else ()  # others are refused as responses
    taken = set(space.names) & {*FIRST_COLUMNS, *default, *LAST_COLUMNS}
    if taken:
        raise InvalidInput(f"inputs must not be named like a column of the campaign's table, got {sorted(taken)[0]!r}")
    return space


def check_same_space(given: Box, kept: Box, name: str) -> None:
    """Refuse a space that is not the one a campaign was created with; the order of the inputs does not matter."""
    for which in dict.fromkeys([*given.names, *kept.names]):
        ours, theirs = given.inputs.get(which), kept.inputs.get(which)
        if ours != theirs:
            raise InvalidInput(
                f"space must be that of campaign {name!r}, where {which!r} is {theirs!r}, got {ours!r}; "
                "create another campaign for another space"
            )
