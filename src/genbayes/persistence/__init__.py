"""Files of fitted models: safe to open, whole or absent, readable for years."""

from genbayes.persistence.file import FORMAT_VERSION, read_state, write_state
from genbayes.persistence.state import Savable, State

__all__ = ["FORMAT_VERSION", "Savable", "State", "read_state", "write_state"]
