"""A thread that renews leases while simulators run, however long they take."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

from genbayes.design.trial import Trial
from genbayes.errors import GenBayesError, LeaseLost

if TYPE_CHECKING:
    from genbayes.design.campaign import Campaign

__all__ = ["Heartbeat"]

RENEWALS_PER_LEASE = 3  # two may fail before a lease lapses


class Heartbeat:
    """Renews the leases it is given until they are taken away from it.

    A lease that is lost meanwhile is let go: its run goes on, since the first result counts, whoever brings it.

    Args:
        campaign: Whose trials they are.
        lease_seconds: How long a lease lasts.
    """

    def __init__(self, campaign: Campaign, lease_seconds: float) -> None:
        self._campaign = campaign
        self._pause = lease_seconds / RENEWALS_PER_LEASE
        self._trials: dict[int, Trial] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="genbayes-leases", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(timeout=self._pause)  # a renewal under way may wait for the database; it does no harm

    def add(self, trial: Trial) -> None:
        """Renew the lease of a trial from now on."""
        with self._lock:
            self._trials[trial.lease] = trial

    def drop(self, trial: Trial) -> None:
        """Renew it no more."""
        with self._lock:
            self._trials.pop(trial.lease, None)

    def _work(self) -> None:
        while not self._over.wait(self._pause):
            with self._lock:
                trials = list(self._trials.values())
            for trial in trials:
                self._renew(trial)

    def _renew(self, trial: Trial) -> None:
        try:
            self._campaign.renew(trial)
        except LeaseLost:
            self.drop(trial)
        except GenBayesError:  # the database is out of reach: try again at the next turn
            return
