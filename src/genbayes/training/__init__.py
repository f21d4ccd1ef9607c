"""Training: minimise a loss over mini-batches; knows no model."""

from genbayes.training.history import History
from genbayes.training.loop import Report, minimise
from genbayes.training.progress import show_progress
from genbayes.training.settings import TrainingSettings
from genbayes.training.stage import show_stage
from genbayes.training.threads import ThreadChooser, single_thread

__all__ = [
    "History",
    "Report",
    "ThreadChooser",
    "TrainingSettings",
    "minimise",
    "show_progress",
    "show_stage",
    "single_thread",
]
