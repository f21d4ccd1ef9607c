"""Files of fitted models: safe to open, whole or absent, readable for years."""

from genbayes.persistence.file import FORMAT_VERSION, read_state, write_state
from genbayes.persistence.records import as_type
from genbayes.persistence.state import FOREIGN, Savable, State

__all__ = ["FOREIGN", "FORMAT_VERSION", "Savable", "State", "as_type", "read_state", "write_state"]
