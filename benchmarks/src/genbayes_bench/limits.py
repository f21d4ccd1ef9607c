"""What a job may use and what it used: threads of numerical libraries, and the highest memory of its process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # read by a library when it is loaded


@contextmanager
def limit_threads(n_threads: int) -> Iterator[None]:
    """At most so many threads for BLAS, OpenMP and torch inside the block, the previous numbers after it.

    Libraries that are loaded already are told; those that a job loads later read the environment. Torch keeps a number
    of its own; where the block is the first to load it, it is freed to use all cores after.

    Example:
        >>> import torch
        >>> with limit_threads(1):
        ...     torch.get_num_threads()
        1
    """
    from threadpoolctl import threadpool_limits

    variables = {name: os.environ.get(name) for name in VARIABLES}
    of_torch = sys.modules["torch"].get_num_threads() if "torch" in sys.modules else os.cpu_count() or 1
    os.environ.update(dict.fromkeys(VARIABLES, str(n_threads)))
    _set_torch(n_threads)
    try:
        with threadpool_limits(limits=n_threads):
            yield
    finally:
        _set_torch(of_torch)
        for name, old in variables.items():
            if old is None:
                del os.environ[name]
            else:
                os.environ[name] = old


def _set_torch(n_threads: int) -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(n_threads)


@dataclass
class Peak:
    """The highest memory, in MB; 0 while the block runs, and where the system does not tell."""

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
        Path("/proc/self/clear_refs").write_text("5")  # "5" sets the mark back to the memory held now
    peak = Peak()
    try:
        yield peak
    finally:
        peak.mb = _high_water_mark()


def _high_water_mark() -> float:
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):  # Linux: highest resident memory so far, in kB
                return int(line.split()[1]) / 1024
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2**20 if sys.platform == "darwin" else most / 1024
