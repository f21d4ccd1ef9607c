"""Files appear whole or not at all: write beside the target, flush to disk, then rename over it.

Every file that genbayes writes goes through here, so an interrupt or a full disk leaves the old file as it was.
"""

import errno
import math
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from genbayes.errors import UnwritableFile


def check_writable(path: str | os.PathLike[str]) -> Path:
    """The path, if a file can be created or replaced there; asked before long work, so that none is lost.

    Example:
        >>> import tempfile
        >>> check_writable(Path(tempfile.gettempdir()) / "model.gb").name
        'model.gb'
    """
    target = Path(path)
    _require_usable(target)
    if target.is_dir():
        raise UnwritableFile(f"path must name a file, got the directory {str(target)!r}; add a file name")
    if target.exists() and not target.is_file():
        raise UnwritableFile(f"path must name an ordinary file, got {str(target)!r}, which is not one")
    folder = target.parent
    if not folder.is_dir():
        raise UnwritableFile(f"path must lie in an existing folder, got {str(target)!r}; create {str(folder)!r} first")
    if not os.access(folder, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise UnwritableFile(f"path must be writable, got {str(target)!r}; check its permissions")
    return target


def _require_usable(target: Path) -> None:
    """Refuse a name that no file can have, and links that lead round in a circle."""
    longest = 255  # bytes of a name on the file systems in use
    if len(os.fsencode(target.name)) > longest:
        shown = f"{target.name[:20]}..."
        raise UnwritableFile(f"path must have a name of at most {longest} bytes, got {shown!r}; shorten it")
    try:
        os.stat(target)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
            shown = f"{str(target)[:80]}{'...' if len(str(target)) > 80 else ''}"
            raise UnwritableFile(f"path must be writable, got {shown!r}; {error.strerror}") from error


def write_atomically(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write `content` to `path` so that a reader sees the old file or the new one, never a part.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_atomically(Path(folder) / "note.txt", b"whole").read_bytes()
        b'whole'
    """
    target = check_writable(path)
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _usual_mode(target))
        os.replace(temporary, target)
    except OSError as error:
        raise UnwritableFile(f"path must be writable, got {str(target)!r}; {error.strerror or error}") from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
    return target


def jsonable(value: object) -> Any:
    """The value as JSON can hold it: numbers of NumPy become plain, NaN becomes null, other objects their repr.

    Example:
        >>> jsonable({"tau": (0.05, float("nan")), "kind": None})
        {'tau': [0.05, None], 'kind': None}
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): jsonable(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(part) for part in value]
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy
        return jsonable(value.tolist())
    return repr(value)


def _usual_mode(target: Path) -> int:
    """Permissions of the file being replaced, or what `open` would have given (mkstemp's are private)."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


# What a terminal obeys instead of showing it, controls and turns of direction; and halves of characters.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""A text of others as a terminal may show it: escape sequences are spelt out, lines and tabs stay.

    Example:
        >>> visible("\x1b[2Jgone\r\n")
        '\\x1b[2Jgone\n'
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return OBEYED.sub(lambda found: ascii(found[0])[1:-1], lines)
