"""Training: minimise a loss over mini-batches for all members at once; knows no model."""

from genbayes.training.loop import History, TrainingSettings, minimise
from genbayes.training.threads import single_thread

__all__ = ["History", "TrainingSettings", "minimise", "single_thread"]
