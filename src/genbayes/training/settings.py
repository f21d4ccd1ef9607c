"""TrainingSettings: how long, how fast and in what portions a network is trained; frozen."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TrainingSettings"]


@dataclass(frozen=True)
class TrainingSettings:
    """One training run.

    Attributes:
        n_epochs: Passes over the rows.
        batch_size: Rows of a mini-batch; None for the full batch.
        learning_rate: Peak rate of Adam.
        weight_decay: Decoupled decay of AdamW; 0 is plain Adam.
        warmup: Share of the steps over which the rate rises linearly; then it falls along a cosine to zero.
        checks: How often a held-out score is taken during the run.
        patience: Checks without improvement after which the run stops; None to run to the end.
    """

    n_epochs: int
    batch_size: int | None = None
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    warmup: float = 0.0
    checks: int = 20
    patience: int | None = None
