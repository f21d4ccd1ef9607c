"""Claims: whoever makes a record holds a lock on a small file meanwhile, so that no two runners make the same one.

The lock is the operating system's (flock): it ends with its process, however that dies, so a dead runner's claim lapses
by itself; on NFS it holds between machines and lapses with the client's lease. Where a folder knows no locks, runners
may repeat each other's work, never spoil it, since records are replaced whole.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from genbayes.errors import GenBayesWarning, UnwritableFile
from genbayes_bench.record import Key, record_path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["Claimed", "NoLocks", "claim", "claim_path", "claims_of", "clear_abandoned", "running_in"]

CLAIMS = "claims"
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


class Claimed(Exception):
    """Somebody else is making the record."""


class NoLocks(GenBayesWarning):
    """The results folder knows no locks."""


def claim_path(folder: Path, key: Key) -> Path:
    """The file whose lock is the claim on the record of `key`.

    Example:
        >>> claim_path(Path("results"), ("bgp2", "paper", "gp", 1600, 3)).as_posix()
        'results/claims/bgp2/paper-gp-n1600-r3.claim'
    """
    record = record_path(folder, key)
    return folder / CLAIMS / record.parent.name / f"{record.stem}.claim"


@contextmanager
def claim(folder: Path, key: Key) -> Iterator[None]:
    """Hold the claim on a record inside the block; `Claimed` if somebody else does."""
    path = claim_path(folder, key)
    with _held(path) as handle:
        _sign(handle, path)
        yield


@contextmanager
def _held(path: Path) -> Iterator[int]:
    """The lock on a file, which is made if absent and gone after the block."""
    handle = _locked(path)
    try:
        yield handle
    finally:
        with suppress(OSError):
            path.unlink()  # before the lock ends, so that nobody can hold a lock on a file that is about to go
        os.close(handle)


def claims_of(folder: Path, keys: Iterable[Key]) -> tuple[list[Key], list[Key]]:
    """Which of these records are being made now, and which were being made when their maker died."""
    running: list[Key] = []
    abandoned: list[Key] = []
    for key in keys:
        path = claim_path(folder, key)
        if path.exists():
            (running if _is_locked(path) else abandoned).append(key)
    return running, abandoned


def clear_abandoned(folder: Path) -> None:
    """Remove the files of claims whose holders died."""
    for path in (folder / CLAIMS).glob("*/*.claim"):
        with suppress(Claimed), _held(path):
            pass


def running_in(folder: Path) -> list[str]:
    """What is claimed in a folder, as "problem method replicate", the longest-running first."""
    found = []
    for path in (folder / CLAIMS).glob("*/*.claim"):
        with suppress(OSError):
            found.append((path.stat().st_mtime, f"{path.parent.name} {_told(path.stem)}"))
    return [text for _, text in sorted(found)]


def _told(stem: str) -> str:
    """Method and replicate of a claim: "gbc-aug 3" for "paper-gbc-aug-n1600-r3"."""
    _, rest = stem.split("-", 1)
    method, _, replicate = rest.rsplit("-", 2)
    return f"{method} {replicate[1:]}"


def _locked(path: Path) -> int:
    """A handle on the file that holds its lock."""
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise UnwritableFile(f"results must be writable, got {str(path)!r}; {error.strerror}") from error
        try:
            _lock(handle)
            if _is_same(handle, path):
                return handle
        except BlockingIOError as error:
            os.close(handle)
            raise Claimed(str(path)) from error
        os.close(handle)  # its last holder removed the file between our opening and our lock: begin again


def _lock(handle: int) -> None:
    if fcntl is None:
        _warn()
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        _warn()


def _is_same(handle: int, path: Path) -> bool:
    """Whether the open file still lies at the path."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _is_locked(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoLocks)
            _lock(handle)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _sign(handle: int, path: Path) -> None:
    """Write down who holds it, for people; a full disk shows here, before any work."""
    owner = json.dumps({"host": platform.node(), "process": os.getpid()}) + "\n"
    try:
        os.truncate(handle, 0)
        os.write(handle, owner.encode())
        os.fsync(handle)
    except OSError as error:
        raise UnwritableFile(f"results must be writable, got {str(path)!r}; {error.strerror}") from error


def _warn() -> None:
    warnings.warn(
        "the results folder knows no locks, so two runners on it may repeat each other's work; run one at a time",
        NoLocks,
        stacklevel=2,
    )
