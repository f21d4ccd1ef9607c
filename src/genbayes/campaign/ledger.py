"""The life of a trial, within one transaction: asked for, renewed, handed back, told, failed.

Five rules hold whatever crashes. The first result of a trial counts, whatever became of its lease. A second one is
kept beside it. The same result of the same lease again changes nothing. A lease that ran out is offered again, and
from then on its former holder may still tell a result but not a failure. A trial whose leases keep running out is given
up as failed, so that a run that kills its machine does not keep a campaign from its end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, insert, or_, select, update

from genbayes.campaign.schema import ABANDONED, LEASES, RESULTS, TRIALS, has_lapsed
from genbayes.campaign.trial import LeaseTerms, Outcome, Trial
from genbayes.data.box import Point
from genbayes.errors import InvalidInput, LeaseLost

HANDED_BACK = and_(TRIALS.c.state == "open", TRIALS.c.n_leases > 0)
WAITING = and_(TRIALS.c.state == "open", TRIALS.c.n_leases == 0)  # for the first who asks

# From how many trials there are and how many are wanted to the inputs of the next
Draw = Callable[[int, int], Sequence[Point]]


@dataclass
class Ledger:
    """The trials of one campaign at one moment, under its lock.

    Args:
        connection: A connection in a transaction that may write.
        campaign_id: The campaign.
        now: The database's time.
        max_attempts: Leases of one trial that may run out before it is given up; None for any number.
    """

    connection: Connection
    campaign_id: int
    now: float
    max_attempts: int | None = None
    _revision: int | None = field(default=None, init=False)

    def count(self) -> int:
        """Trials there are, in any state: they are numbered from 1 without a gap."""
        last = select(func.max(TRIALS.c.number)).where(TRIALS.c.campaign_id == self.campaign_id)
        return int(self.connection.scalar(last) or 0)

    def _count_waiting(self) -> int:
        """Trials that nobody has been given yet."""
        mine = select(func.count()).select_from(TRIALS).where(TRIALS.c.campaign_id == self.campaign_id, WAITING)
        return int(self.connection.scalar(mine) or 0)

    def add(self, points: Sequence[Point], source: str, request: str) -> list[int]:
        """New open trials; returns their numbers. The same request again adds nothing."""
        # A request is known by its name alone; together with the campaign's, SQLite would look at all its trials.
        known = self.connection.scalars(select(TRIALS.c.number).where(TRIALS.c.request == request)).all()
        if known:
            return sorted(known)
        first = self.count() + 1
        rows = [
            {
                "campaign_id": self.campaign_id,
                "number": first + i,
                "x": json.dumps(point),
                "source": source,
                "request": request,
                "state": "open",
                "n_leases": 0,
                "created_at": self.now,
                "revision": self._next_revision(),
            }
            for i, point in enumerate(points)
        ]
        if rows:
            self.connection.execute(insert(TRIALS), rows)
        return [first + i for i in range(len(rows))]

    def answered(self, request: str) -> list[Trial]:
        """What an ask was given whose answer got lost on the way."""
        found = (
            select(TRIALS, LEASES.c.id.label("token"), LEASES.c.seconds, LEASES.c.worker.label("holder"))
            .join(LEASES, LEASES.c.trial_id == TRIALS.c.id)
            .where(LEASES.c.request == request)
            .order_by(LEASES.c.id)
        )
        rows = self.connection.execute(found)
        return [Trial(row.number, json.loads(row.x), row.token, row.seconds, row.holder) for row in rows]

    def ask(
        self,
        n: int,
        terms: LeaseTerms,
        request: str,
        points: Sequence[Point] = (),
        expected: int | None = None,
        draw: Draw | None = None,
    ) -> list[Trial] | None:
        """Lease up to n trials: those offered before, then new ones within the budget, the oldest first.

        A trial is paid for when it is first handed out, so one that is offered again costs nothing. One that has been
        offered too often is given up first. The same request again is given the same trials.

        Args:
            n: How many.
            terms: On what terms.
            request: What asks.
            points: Inputs of new trials, added first as far as the budget allows.
            expected: How many trials there must be before; otherwise nothing is done.
            draw: Where new trials need no look at the others: inputs of the next, given how many there are and how many
                are wanted; asked only for what is missing, and to give the same again.

        Returns:
            The trials; None where there are not as many as expected.
        """
        known = self.answered(request)
        if known:
            return known
        if points:
            n_trials = self.count()
            if expected is not None and n_trials != expected:
                return None
            left = len(points) if terms.budget is None else max(0, terms.budget - n_trials)
            self.add(points[:left], "proposed", request)
        rows = self._offer(n, terms)
        if draw is not None and len(rows) < n:
            n_trials = self.count()
            n_more = n - len(rows) if terms.budget is None else min(n - len(rows), terms.budget - n_trials)
            numbers = self.add(draw(n_trials, n_more), "proposed", request) if n_more > 0 else []
            rows += self._take(TRIALS.c.number.in_(numbers)) if numbers else []
        return [self._lease(row, terms, request) for row in rows]

    def _offer(self, n: int, terms: LeaseTerms) -> list[Row[Any]]:
        """Up to n trials to hand out: those that were out before, then those that nobody has had, within the budget."""
        self._give_up()
        # Two questions, each answered by an index; joined by OR, every trial would be looked at.
        again = self._take(has_lapsed(self.now), n) + self._take(HANDED_BACK, n)
        rows = sorted(again, key=lambda row: int(row.number))[:n]
        left = n - len(rows)
        if left and terms.budget is not None:
            left = min(left, terms.budget - self.count() + self._count_waiting())
        return rows + (self._take(WAITING, left) if left > 0 else [])

    def _give_up(self) -> None:
        """Fail the trials that nobody came back from, lease after lease: the next worker would not come back either."""
        if self.max_attempts is None:
            return
        for row in self._take(and_(has_lapsed(self.now), TRIALS.c.n_leases >= self.max_attempts)):
            of_trial = select(func.count()).select_from(LEASES).where(LEASES.c.trial_id == row.id, ABANDONED)
            n_lapses = int(self.connection.scalar(of_trial) or 0) + 1  # the last one has not been noticed before
            if n_lapses >= self.max_attempts:
                self._end(row.lease_id, "lapsed", at=min(row.expires_at, self.now))
                leases = "1 lapsed lease, held" if n_lapses == 1 else f"{n_lapses} lapsed leases, the last held"
                reason = f"given up after {leases} by {row.worker}"
                self._change(row.id, state="failed", reason=reason, finished_at=self.now)

    def _take(self, which: ColumnElement[bool], n: int | None = None) -> list[Row[Any]]:
        mine = select(TRIALS).where(TRIALS.c.campaign_id == self.campaign_id, which)
        # The sum keeps SQLite from walking along all numbers in order instead of finding the few by their state.
        order = TRIALS.c.number if which is WAITING else TRIALS.c.number + 0
        return list(self.connection.execute(mine.order_by(order).limit(n)).all())

    def _lease(self, row: Row[Any], terms: LeaseTerms, request: str) -> Trial:
        if row.state == "running":
            self._end(row.lease_id, "lapsed", at=min(row.expires_at, self.now))
        expires_at = self.now + terms.seconds
        lease = {"trial_id": row.id, "request": request, "worker": terms.worker, "seconds": terms.seconds}
        lease |= {"granted_at": self.now, "expires_at": expires_at}
        key = self.connection.execute(insert(LEASES).values(lease)).inserted_primary_key
        assert key is not None
        token = int(key[0])
        self._change(
            row.id,
            state="running",
            lease_id=token,
            leased_at=self.now,
            expires_at=expires_at,
            worker=terms.worker,
            n_leases=row.n_leases + 1,
            started_at=self.now,
            reason=None,
        )
        return Trial(row.number, json.loads(row.x), token, terms.seconds, terms.worker)

    def tell(
        self, number: int, lease: int | None, y: float, worker: str = "", further: Sequence[float] = ()
    ) -> Outcome:
        """Record a result: "counted" for the first, "repeat" for another, "again" for one that is known."""
        row, holder = self._find(number, lease)
        given = {"y": y, "further": json.dumps(list(further)) if further else None}
        is_same = [RESULTS.c[name].is_not_distinct_from(value) for name, value in {**given, "lease_id": lease}.items()]
        same = select(RESULTS.c.id).where(RESULTS.c.trial_id == row.id, *is_same).limit(1)
        if self.connection.scalar(same) is not None:
            return "again"
        counts = row.state != "done"
        result = {"trial_id": row.id, "lease_id": lease, "counted": counts, **given}
        self.connection.execute(insert(RESULTS).values(**result, worker=holder or worker, told_at=self.now))
        self._end(lease, "told")
        if not counts:
            return "repeat"
        self._change(row.id, state="done", **given, reason=None, worker=holder or worker, finished_at=self.now)
        return "counted"

    def fail(self, number: int, lease: int | None, reason: str) -> Outcome:
        """Record a failure: "failed", "again" where it had failed, "late" where it is done or another's by now."""
        row, _ = self._find(number, lease)
        self._end(lease, "failed", reason=reason)
        if row.state == "failed":
            return "again"
        if row.state == "done" or (lease is not None and (lease != row.lease_id or row.state == "open")):
            return "late"
        self._change(row.id, state="failed", reason=reason, finished_at=self.now)
        return "failed"

    def renew(self, number: int, lease: int, seconds: float) -> None:
        """Let a lease begin anew; one that ran out may be renewed as long as nobody else was offered the trial."""
        row, _ = self._find(number, lease)
        if row.state != "running" or row.lease_id != lease:
            where = "another worker has the trial" if row.state == "running" else f"the trial is {row.state}"
            raise LeaseLost(f"Lease {lease} of trial {number} cannot be renewed: {where}")
        self._change(row.id, leased_at=self.now, expires_at=self.now + seconds)
        self.connection.execute(update(LEASES).where(LEASES.c.id == lease).values(expires_at=self.now + seconds))

    def release(self, number: int, lease: int) -> bool:
        """Hand a trial back, so that it is offered at once; False where it is not the holder's any more."""
        row, _ = self._find(number, lease)
        if row.state != "running" or row.lease_id != lease:
            return False
        self._end(lease, "released")
        self._change(row.id, state="open", expires_at=None)
        return True

    def _find(self, number: int, lease: int | None) -> tuple[Row[Any], str]:
        """A trial, and who was given the lease, which must be one of this trial's; "" without a lease."""
        wanted = select(TRIALS).where(TRIALS.c.campaign_id == self.campaign_id, TRIALS.c.number == number)
        row = self.connection.execute(wanted).one_or_none()
        if row is None:
            raise InvalidInput(f"trial must be a number from 1 to {self.count()}, got {number!r}")
        if lease is None:
            return row, ""
        worker = self.connection.scalar(
            select(LEASES.c.worker).where(LEASES.c.id == lease, LEASES.c.trial_id == row.id)
        )
        if worker is None:
            raise InvalidInput(f"lease must be one of trial {row.number}, got {lease!r}")
        return row, str(worker)

    def _end(self, lease: int | None, ending: str, *, at: float | None = None, reason: str | None = None) -> None:
        """Close a lease for good; a result or a failure may still replace the word `lapsed`."""
        if lease is not None:
            still = or_(LEASES.c.ending.is_(None), LEASES.c.ending == "lapsed")
            values = {"ending": ending, "ended_at": self.now if at is None else at, "reason": reason}
            self.connection.execute(update(LEASES).where(LEASES.c.id == lease, still).values(values))

    def _change(self, trial_id: int, **values: str | float | None) -> None:
        changed = {**values, "revision": self._next_revision()}
        self.connection.execute(update(TRIALS).where(TRIALS.c.id == trial_id).values(changed))

    def _next_revision(self) -> int:
        """A number above that of every change before; writers of a campaign take turns, so later ones are larger."""
        if self._revision is None:
            largest = select(func.max(TRIALS.c.revision)).where(TRIALS.c.campaign_id == self.campaign_id)
            self._revision = int(self.connection.scalar(largest) or 0)
        self._revision += 1
        return self._revision
