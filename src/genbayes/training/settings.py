"""TrainingSettings: how long, how fast and in what portions a network is trained; frozen."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TrainingSettings"]


@dataclass(frozen=True)
class TrainingSettings:
    """One training run.

    Attributes:
        n_epochs: Passes over the rows, at most.
        batch_size: Rows of a mini-batch; None for the full batch.
        learning_rate: Peak rate of Adam.
        weight_decay: Decoupled decay of AdamW; 0 is plain Adam.
        warmup: Share of the steps over which the rate rises linearly; it falls along a cosine to zero.
        averaging: Decay of the running mean of the weights that is scored and kept; 0 keeps the last weights.
        steps_between_checks: How often rows kept aside are scored.
        patience: Checks without improvement after which a member is done; the run stops when all are. None to run
            to the end.
        n_rounds: How many times the run, each time twice as long, may be repeated from where it stands, for members
            whose held-out score is still falling when it ends; 1 for once.
    """

    n_epochs: int
    batch_size: int | None = None
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    warmup: float = 0.0
    averaging: float = 0.0
    steps_between_checks: int = 50
    patience: int | None = None
    n_rounds: int = 1

    @property
    def most_epochs(self) -> int:
        """Epochs of all rounds together.

        Example:
            >>> TrainingSettings(n_epochs=40, n_rounds=3).most_epochs
            280
        """
        return self.n_epochs * ((1 << self.n_rounds) - 1)
