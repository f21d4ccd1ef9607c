"""The old name of `genbayes.models`, which goes on working for one minor version."""

from genbayes.models import *  # noqa: F403
from genbayes.models import __all__ as __all__
