"""One safe file for any fitted model: a readable manifest, then tensors in the safetensors format.

Layout, format 1: a line naming the format, a line with the SHA-256 of everything after it, a line with the two
lengths, the manifest as indented JSON, the safetensors block. Reading parses numbers and text only and never runs
code from the file; any change of any byte is noticed before anything is used.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from importlib import metadata
from pathlib import Path

import numpy as np

from genbayes.errors import UnreadableFile
from genbayes.persistence.state import State
from genbayes.writing import write_atomically

FORMAT_VERSION = 1
MAGIC = b"genbayes model, format "
LONGEST_LINE = 128  # bytes of each of the three header lines, at most
LONGEST_MANIFEST = 64 * 2**20
LARGEST_FILE = 8 * 2**30  # far beyond any network of this library; a larger file is not one of ours
LIBRARIES = ("genbayes", "numpy", "torch", "scikit-learn", "safetensors")


def write_state(path: str | os.PathLike[str], state: State) -> Path:
    """Write a model's state to one file, whole or not at all.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = write_state(Path(folder) / "model.gb", State("Identity", {"n": 3}))
        ...     read_state(path).values
        {'n': 3}
    """
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in sorted(state.arrays.items())}
    block = save(arrays)
    manifest = {
        "format": FORMAT_VERSION,
        "class": state.kind,
        "versions": _versions(),
        "tensors": {name: [str(array.dtype), list(array.shape)] for name, array in arrays.items()},
        "state": dict(state.values),
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False).encode()
    body = b"%d %d\n" % (len(text), len(block)) + text + block
    digest = hashlib.sha256(body).hexdigest().encode()
    return write_atomically(path, MAGIC + b"%d\n" % FORMAT_VERSION + digest + b"\n" + body)


def read_state(path: str | os.PathLike[str]) -> State:
    """The state kept in a file that `write_state` wrote; one clear error for any other file."""
    source = Path(path)
    content = _read_bytes(source)
    first, _, rest = content.partition(b"\n")
    version = first.removeprefix(MAGIC)
    if not first.startswith(MAGIC) or not version.isdigit():
        raise UnreadableFile(f"path must name a genbayes model file, got {str(source)!r}, which is not one")
    if int(version) != FORMAT_VERSION:
        raise UnreadableFile(
            f"the model file must have format {FORMAT_VERSION}, got format {int(version)} in {str(source)!r}; "
            "load it with the version of genbayes that wrote it"
        )
    digest, _, body = rest.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise UnreadableFile(
            f"the model file must be as it was written, got other bytes in {str(source)!r} "
            "(cut short, extended or altered); restore it from a copy or fit again"
        )
    return _parse(body, source)


def _read_bytes(source: Path) -> bytes:
    if source.is_dir():
        raise UnreadableFile(f"path must name a model file, got the directory {str(source)!r}")
    try:
        size = source.stat().st_size
        if size > LARGEST_FILE:
            raise UnreadableFile(f"a model file must be at most {LARGEST_FILE} bytes, got {size} in {str(source)!r}")
        with source.open("rb") as file:
            if not file.read(len(MAGIC)) == MAGIC:  # a foreign file is refused before it is read whole
                raise UnreadableFile(f"path must name a genbayes model file, got {str(source)!r}, which is not one")
            file.seek(0)
            return file.read()
    except FileNotFoundError as error:
        raise UnreadableFile(f"path must name an existing model file, got {str(source)!r}") from error
    except OSError as error:
        raise UnreadableFile(f"path must be readable, got {str(source)!r}; {error.strerror}") from error


def _parse(body: bytes, source: Path) -> State:
    """Manifest and tensors from bytes whose checksum was right, so that only a crafted file can fail here."""
    from safetensors.numpy import load

    try:
        lengths, _, rest = body.partition(b"\n")
        n_text, n_block = (int(part) for part in lengths[:LONGEST_LINE].split())
        if n_text > LONGEST_MANIFEST or len(rest) != n_text + n_block:
            raise ValueError("lengths do not add up")
        manifest = json.loads(rest[:n_text], parse_constant=_refuse_constant)
        arrays = load(rest[n_text:])
        return State(_text(manifest["class"]), dict(manifest["state"]), arrays)
    except Exception as error:  # every parser has errors of its own; all of them mean the same to a user
        raise UnreadableFile(
            f"the model file must hold a manifest and tensors, got neither from {str(source)!r} ({error})"
        ) from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("class must be text")
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:  # run from a source tree that was never installed
            found[library] = "unknown"
    return found
