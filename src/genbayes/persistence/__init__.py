"""Files of fitted models: safe to open, whole or absent, readable for years."""

from genbayes.persistence.file import FORMAT_VERSION, Composite, Restore, Savable, read_state, write_state
from genbayes.persistence.state import State

__all__ = ["FORMAT_VERSION", "Composite", "Restore", "Savable", "State", "read_state", "write_state"]
