"""How many threads numerical libraries may use while a job runs, so that jobs side by side do not fight for cores."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["limit_threads"]

VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # read by a library when it is loaded


@contextmanager
def limit_threads(n_threads: int) -> Iterator[None]:
    """At most so many threads for BLAS, OpenMP and torch inside the block, the previous numbers after it.

    Libraries that are loaded already are told; those that a job loads later read the environment.

    Example:
        >>> import torch
        >>> with limit_threads(1):
        ...     torch.get_num_threads()
        1
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with _environment(str(n_threads)), threadpool_limits(limits=n_threads), _torch_limited(n_threads):
        yield


@contextmanager
def _environment(value: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in VARIABLES}
    os.environ.update(dict.fromkeys(VARIABLES, value))
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                del os.environ[name]
            else:
                os.environ[name] = old


@contextmanager
def _torch_limited(n_threads: int) -> Iterator[None]:
    """Torch keeps a number of its own; where the block is the first to load it, it is freed to use all cores after."""
    before = sys.modules["torch"].get_num_threads() if "torch" in sys.modules else os.cpu_count() or 1
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(n_threads)
    try:
        yield
    finally:
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(before)
