"""Training: minimise a loss over mini-batches for all members at once; knows no model."""

from genbayes.training.loop import History, Training, TrainingSettings, choose_batch_size, differentiate, minimise

__all__ = [
    "History",
    "Training",
    "TrainingSettings",
    "choose_batch_size",
    "differentiate",
    "minimise",
]
