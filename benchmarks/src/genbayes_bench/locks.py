"""Locks: whoever makes a record holds a lock on a small file meanwhile, so that no two runners make the same one.

The lock is the operating system's (flock): it ends with its process, however that dies; on NFS it holds between
machines and ends with the client's lease. Where a folder knows no locks, runners may repeat each other's work, never
spoil it, since records are replaced whole.
"""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from genbayes.errors import GenBayesWarning, UnwritableFile
from genbayes_bench.record import Key, record_path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FOLDER = "locks"
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


class Locked(Exception):
    """Somebody else is making the record."""


class NoLocks(GenBayesWarning):
    """The results folder knows no locks."""


def lock_path(folder: Path, key: Key) -> Path:
    """The file whose lock is held while the record of `key` is made.

    Example:
        >>> lock_path(Path("results"), ("bgp2", "paper", "gp", 1600, 3)).as_posix()
        'results/locks/bgp2/paper-gp-n1600-r3.lock'
    """
    record = record_path(folder, key)
    return folder / FOLDER / record.parent.name / f"{record.stem}.lock"


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the lock on a file, which is made if absent and gone after the block; `Locked` if somebody else does."""
    handle = _acquire(path)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # before the lock ends, so that nobody can hold a lock on a file that is about to go
        os.close(handle)


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock now; a file without is left by somebody who died."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoLocks)
            _flock(handle)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def remove_stale(folder: Path) -> None:
    """Remove the files of locks whose holders died."""
    for path in (folder / FOLDER).glob("*/*.lock"):
        with suppress(Locked), lock(path):
            pass


def running_in(folder: Path) -> list[str]:
    """What is being made in a folder, as "problem method replicate", the longest-running first.

    Example:
        >>> running_in(Path("no-such-folder"))
        []
    """
    found = []
    for path in (folder / FOLDER).glob("*/*.lock"):
        with suppress(OSError):
            method, _, replicate = path.stem.split("-", 1)[1].rsplit("-", 2)  # of "paper-gbc-aug-n1600-r3"
            found.append((path.stat().st_mtime, f"{path.parent.name} {method} {replicate[1:]}"))
    return [text for _, text in sorted(found)]


def _acquire(path: Path) -> int:
    """A handle on the file that holds its lock."""
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise UnwritableFile(f"results must be writable, got {str(path)!r}; {error.strerror}") from error
        try:
            _flock(handle)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    return handle
        except BlockingIOError as error:
            os.close(handle)
            raise Locked(str(path)) from error
        os.close(handle)  # its last holder removed the file between our opening and our lock: begin again


def _flock(handle: int) -> None:
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    warnings.warn(
        "the results folder knows no locks, so two runners on it may repeat each other's work; run one at a time",
        NoLocks,
        stacklevel=2,
    )
