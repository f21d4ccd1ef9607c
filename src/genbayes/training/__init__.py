"""Training: minimise a loss over mini-batches for all members at once; knows no model."""

from genbayes.training.loop import History, TrainingSettings, choose_batch_size, minimise
from genbayes.training.threads import single_thread

__all__ = ["History", "TrainingSettings", "choose_batch_size", "minimise", "single_thread"]
