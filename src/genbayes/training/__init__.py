"""Training: minimise a loss over mini-batches for all members at once; knows no model."""

from genbayes.training.loop import History, Training, TrainingSettings, choose_batch_size, differentiate, minimise
from genbayes.training.threads import single_thread, training_threads

__all__ = [
    "History",
    "Training",
    "TrainingSettings",
    "choose_batch_size",
    "differentiate",
    "minimise",
    "single_thread",
    "training_threads",
]
