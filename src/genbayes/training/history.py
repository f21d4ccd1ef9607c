"""History: what a training run looked like, for the report and for decisions about the next run."""

from __future__ import annotations

from dataclasses import dataclass

from genbayes.arrays import FloatArray

__all__ = ["History"]


@dataclass(frozen=True)
class History:
    """The course of one training run, averaged over members.

    Attributes:
        epoch: Epochs at which the training loss was noted, shape (e,).
        loss: Mean training loss since the previous note, shape (e,).
        held_out_epoch: Epochs at which held-out rows were scored, shape (h,).
        held_out_crps: CRPS there, on the standardised scale of y, shape (h,).
        seconds: Wall time.
        n_threads: Threads that a few timed steps found quickest.
        is_unfinished: Whether held-out scores were still falling fast when the run ended; not kept in files.
    """

    epoch: FloatArray
    loss: FloatArray
    held_out_epoch: FloatArray
    held_out_crps: FloatArray
    seconds: float
    n_threads: int
    is_unfinished: bool = False
