"""Sequential designs as data: who chooses the runs, by the names that records have.

They are run by `python -m genbayes_bench.studies.design`, whose `pack` turns their learning curves into records. Their
runs were chosen, so they compete with nobody who was given runs: the report tells them under active learning and
nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from genbayes_bench.record import Record

__all__ = ["CHOSEN", "DESIGNS", "RANDOM", "Design", "chooses", "is_sequential"]

CHOSEN, RANDOM = "al", "al-random"  # ours, and the same model without the choice


@dataclass(frozen=True)
class Design:
    """Who chooses the runs and who predicts.

    Attributes:
        name: Its key in records.
        title: What people call it, short enough for a legend.
        random: Name of the same model on random runs; None where there is none.
        chooses: Whether it chooses at all; random runs are what choices are held against.
    """

    name: str
    title: str
    random: str | None = None
    chooses: bool = True


_ALL = (
    Design(CHOSEN, "ModelProposer, chosen runs", RANDOM),
    Design(RANDOM, "same model, random runs", chooses=False),
    Design("al-deep-gp", "Deep GP with ALC"),
    Design("al-gbc", "GBC-AL as in the paper", "al-gbc-random"),
    Design("al-gbc-random", "GBC networks, random runs", chooses=False),
    Design("al-bootstrap", "bootstrapped networks"),
    Design("al-anchored", "anchored networks"),
    Design("al-sngp", "SNGP"),
    Design("al-laplace", "last-layer Laplace"),
)
DESIGNS: Mapping[str, Design] = {design.name: design for design in _ALL}


def is_sequential(record: Record) -> bool:
    """Whether a record is of a sequential design: by its name, or by the learning curve that it keeps."""
    curve = record.detail.get("curve")
    return record.method in DESIGNS or (isinstance(curve, Mapping) and "n" in curve)


def chooses(method: str) -> bool:
    """Whether a sequential design chooses its runs; one that is not known here does.

    Example:
        >>> chooses("al"), chooses("al-random"), chooses("al-of-somebody")
        (True, False, True)
    """
    return method not in DESIGNS or DESIGNS[method].chooses
