"""The highest memory of this process while a block runs, as the operating system counts it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Peak", "watch_memory"]

STATUS, FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MARK = "VmHWM:"  # Linux: highest resident memory so far, in kB


@dataclass
class Peak:
    """What was found, in MB; 0 while the block runs, and where the system does not tell."""

    mb: float = 0.0


@contextmanager
def watch_memory() -> Iterator[Peak]:
    """A value that holds the highest resident memory after the block.

    On Linux the high-water mark is set back first, so that earlier work does not count; elsewhere it is that of the
    process so far.

    Example:
        >>> with watch_memory() as peak:
        ...     pass
        >>> peak.mb >= 0
        True
    """
    with suppress(OSError):
        FORGET.write_text("5")  # "5" sets the mark back to the memory held now
    peak = Peak()
    try:
        yield peak
    finally:
        peak.mb = _high_water_mark()


def _high_water_mark() -> float:
    with suppress(OSError):
        for line in STATUS.read_text().splitlines():
            if line.startswith(MARK):
                return int(line.split()[1]) / 1024
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2**20 if sys.platform == "darwin" else most / 1024
