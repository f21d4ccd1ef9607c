"""Damage that knows the structure of a model file, and keeps its checksum right so that it reaches the loaders.

A case is a number: its generator chooses a file, a few kinds of damage, and where each falls. Values of the manifest
are replaced, removed, exchanged; arrays are spoilt, reshaped, cast, swapped; one length is changed everywhere it
occurs; the header of the tensors lies about them.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from genbayes.models.registry import OUR_ESTIMATORS, registered_models, registered_parts
from genbayes.persistence.file import FORMAT_VERSION, MAGIC

BIG_ENOUGH = 2_000_000  # bytes that longer arrays may add to a file
MOST_VALUES = 200_000  # of a manifest written out: parts nested and repeated by reference grow as 500 * 500 * 40
LARGEST = 4_000_000  # bytes of a damaged file; what is honestly large may take more memory than the limit
INFINITE = "@infinite@"  # becomes 1e999, which JSON reads as infinity
WEIRD: list[Any] = [None, True, False, -1, 0, 1, 2, 3, 7, 1000, 10**6, 10**9, 2**31, 2**63, 10**400, -(10**18)]
WEIRD += [0.5, -0.0, 1e-320, 1e-300, 1e-30, 1e30, 1e150, 1e300, 1.7e308, -1e308, INFINITE]
WEIRD += ["", "x", "nan", "regime", "paper", "matern52", "\u0000", "é" * 300, [], {}, [[]], [None], {"kind": "x"}]
SPOILT = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1.0, 1e-320, 1e-30, 1e30, 1e150, 1e300, -1e300]
DTYPES = ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "uint64", "bool"]


@dataclass
class Draft:
    """A file in the making: class, values, arrays, and whether the header of the tensors is to lie."""

    kind: str
    values: dict[str, Any]
    arrays: dict[str, np.ndarray]
    lies: int = 0
    is_deep: bool = False  # nothing more is done to a tree that Python cannot walk


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a tree of dictionaries and lists."""
    found: list[tuple[Any, Any]] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node))
        for key in keys:
            found.append((node, key))
            if isinstance(node[key], (dict, list)):
                stack.append(node[key])
    return found


def count_values(tree: Any) -> int:
    """How many values a tree has when written out, where a part that is referred to twice stands twice."""
    counted: dict[int, int] = {}
    stack = [tree]
    while stack:
        node = stack[-1]
        inner = [part for part in (node.values() if isinstance(node, dict) else node) if isinstance(part, (dict, list))]
        if missing := {id(part): part for part in inner if id(part) not in counted}:
            stack += missing.values()  # each once, though it may be referred to a thousand times
        else:
            counted[id(node)] = len(node) + sum(counted[id(part)] for part in inner)
            stack.pop()
    return counted[id(tree)]


def pick(rng: np.random.Generator, options: list[Any]) -> Any:
    return options[int(rng.integers(len(options)))]


def replace_value(draft: Draft, rng: np.random.Generator) -> None:
    node, key = pick(rng, places(draft.values))
    node[key] = copy.deepcopy(pick(rng, WEIRD))


def change_number(draft: Draft, rng: np.random.Generator) -> None:
    """A number near the one that was there, or far from it."""
    numbers = [(n, k) for n, k in places(draft.values) if type(n[k]) in (int, float) and abs(n[k]) < 1e300]
    if not numbers:
        return
    node, key = pick(rng, numbers)
    old = node[key]
    near = [old + 1, old - 1, -old, 2 * old, float(old), old * 1e9, old * 1e-9]
    node[key] = pick(rng, near if isinstance(old, float) else [*near[:5], old * 10**6])
    if isinstance(node[key], float) and not np.isfinite(node[key]):
        node[key] = INFINITE


def remove_value(draft: Draft, rng: np.random.Generator) -> None:
    node, key = pick(rng, places(draft.values))
    del node[key]


def repeat_item(draft: Draft, rng: np.random.Generator) -> None:
    lists = [n[k] for n, k in places(draft.values) if isinstance(n[k], list) and n[k]]
    if lists:
        chosen = pick(rng, lists)
        chosen += copy.deepcopy(chosen[-1:]) * int(pick(rng, [1, 2, 500]))


def exchange_values(draft: Draft, rng: np.random.Generator) -> None:
    everywhere = places(draft.values)
    (a, i), (b, j) = pick(rng, everywhere), pick(rng, everywhere)
    a[i], b[j] = copy.deepcopy(b[j]), copy.deepcopy(a[i])


def rename_class(draft: Draft, rng: np.random.Generator) -> None:
    names = sorted({entry.disk_name for entry in registered_models().values()})
    names += [*OUR_ESTIMATORS, *registered_parts(), "LinearScores", "os"]
    kinds = [n for n, k in places(draft.values) if k == "kind" and isinstance(n, dict)]
    if kinds and rng.uniform() < 0.7:
        pick(rng, kinds)["kind"] = pick(rng, names)
    else:
        draft.kind = pick(rng, names)


def nest_deeply(draft: Draft, rng: np.random.Generator) -> None:
    """A part within a part within a part, or a list within a list."""
    depth = int(pick(rng, [3, 50, 900, 20_000]))
    if rng.uniform() < 0.5:
        tree: Any = []
        for _ in range(depth):
            tree = [tree]
        node, key = pick(rng, places(draft.values))
        node[key], draft.is_deep = tree, True
        return
    for _ in range(min(depth, 40)):
        part = {"kind": draft.kind, "values": draft.values}
        models = {"n_models": 1, "model0": part}
        draft.values = {**draft.values, **models}


def spoil_entries(draft: Draft, rng: np.random.Generator) -> None:
    name = pick(rng, list(draft.arrays))
    array = draft.arrays[name].copy()
    if not array.size:
        return
    value = pick(rng, SPOILT)
    if array.dtype.kind != "f":
        value = float(pick(rng, [-1, 0, 1, 100, 10**6]))
    flat = array.reshape(-1)
    share = pick(rng, [0.0, 0.0, 0.3, 1.0])
    rows = [int(rng.integers(len(flat)))] if share == 0 else rng.uniform(size=len(flat)) < share
    with np.errstate(all="ignore"):
        flat[rows] = np.asarray(value).astype(array.dtype)
    draft.arrays[name] = array


def scale_array(draft: Draft, rng: np.random.Generator) -> None:
    name = pick(rng, list(draft.arrays))
    array = draft.arrays[name]
    with np.errstate(all="ignore"):
        scaled = array.astype(np.float64) * pick(rng, [-1.0, 0.0, 2.0, 1e-200, 1e5, 1e20, 1e200])
        draft.arrays[name] = scaled.astype(array.dtype)


def cast_array(draft: Draft, rng: np.random.Generator) -> None:
    name = pick(rng, list(draft.arrays))
    with np.errstate(all="ignore"):
        draft.arrays[name] = draft.arrays[name].astype(pick(rng, DTYPES))


def reshape_array(draft: Draft, rng: np.random.Generator) -> None:
    name = pick(rng, list(draft.arrays))
    array = draft.arrays[name]
    shapes = [array.T, array.reshape(-1), array[None], array[..., None], array[:0], array[:1], array[..., :1]]
    shapes += [np.zeros((0, 10**9), array.dtype), np.concatenate([array, array]) if array.ndim else array]
    draft.arrays[name] = np.ascontiguousarray(pick(rng, shapes)) if array.ndim else np.zeros(3)


def lose_array(draft: Draft, rng: np.random.Generator) -> None:
    del draft.arrays[pick(rng, list(draft.arrays))]


def swap_arrays(draft: Draft, rng: np.random.Generator) -> None:
    a, b = (pick(rng, list(draft.arrays)) for _ in range(2))
    draft.arrays[a], draft.arrays[b] = draft.arrays[b], draft.arrays[a]


def change_length(draft: Draft, rng: np.random.Generator) -> None:
    """One length is changed in every array that has it, and every whole number equal to it: damage that agrees."""
    lengths = sorted({size for array in draft.arrays.values() for size in array.shape})
    old = pick(rng, lengths)
    new = int(pick(rng, [0, 1, 2, old + 1, max(old - 1, 0), 2 * old, 50, 1000, 20_000]))
    shapes = {name: tuple(new if n == old else n for n in array.shape) for name, array in draft.arrays.items()}
    if sum(math.prod(shapes[name]) * array.itemsize for name, array in draft.arrays.items()) > BIG_ENOUGH:
        return
    for name, array in draft.arrays.items():
        shape = shapes[name]
        rows = [np.arange(n) % max(size, 1) for n, size in zip(shape, array.shape, strict=True)] if array.size else []
        draft.arrays[name] = array[np.ix_(*rows)] if array.size else np.zeros(shape, array.dtype)
    for node, key in places(draft.values):
        if type(node[key]) is int and node[key] == old:
            node[key] = new


def lie_in_header(draft: Draft, rng: np.random.Generator) -> None:
    draft.lies = int(rng.integers(1, 2**31))


DAMAGE: list[tuple[int, Callable[[Draft, np.random.Generator], None]]] = [
    (6, replace_value),
    (5, change_number),
    (2, remove_value),
    (2, repeat_item),
    (2, exchange_values),
    (2, rename_class),
    (1, nest_deeply),
    (6, spoil_entries),
    (3, scale_array),
    (2, cast_array),
    (3, reshape_array),
    (1, lose_array),
    (2, swap_arrays),
    (4, change_length),
    (1, lie_in_header),
]


def damaged(kind: str, values: dict[str, Any], arrays: dict[str, np.ndarray], rng: np.random.Generator) -> bytes:
    """A file with one to four kinds of damage."""
    draft = Draft(kind, copy.deepcopy(values), dict(arrays))
    simply_damaged = Draft(kind, {**values, "n_rows": -1}, dict(arrays))  # where the other has become too large
    weight = np.array([each for each, _ in DAMAGE], dtype=float)
    for which in rng.choice(len(DAMAGE), size=1 + rng.geometric(0.6) % 4, p=weight / weight.sum()):
        if draft.arrays and draft.values and not draft.is_deep:
            DAMAGE[which][1](draft, rng)
        if count_values(draft.values) > MOST_VALUES:
            return as_file(simply_damaged)
    content = as_file(draft)
    return content if len(content) <= LARGEST else as_file(simply_damaged)


def as_file(draft: Draft) -> bytes:
    """The bytes of a file with a right checksum."""
    from safetensors.numpy import save

    block = save({name: np.ascontiguousarray(array) for name, array in draft.arrays.items()})
    if draft.lies:
        block = _with_lies(block, np.random.default_rng(draft.lies))
    manifest = {"format": FORMAT_VERSION, "class": draft.kind, "state": draft.values}
    text = _dumped(manifest).replace(f'"{INFINITE}"', "1e999").encode()
    body = b"%d %d\n" % (len(text), len(block)) + text + block
    return MAGIC + b"%d\n" % FORMAT_VERSION + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _dumped(manifest: dict[str, Any]) -> str:
    try:
        return json.dumps(manifest)
    except RecursionError:  # the writer gives up where nesting is deep; the reader is to be tried all the same
        return '{"class": "StationaryGP", "state": ' + "[" * 20_000 + "]" * 20_000 + "}"


def _with_lies(block: bytes, rng: np.random.Generator) -> bytes:
    """Tensors whose header says other shapes, types or places."""
    size = int.from_bytes(block[:8], "little")
    header, data = json.loads(block[8 : 8 + size]), block[8 + size :]
    entry = header[pick(rng, [name for name in header if name != "__metadata__"])]
    kinds = ["F64", "F32", "BF16", "I64", "BOOL", "F8_E4M3", "X"]
    lie = int(rng.integers(4))
    if lie == 0:
        entry["shape"] = pick(rng, [[10**12], [], [-1], [2, *entry["shape"]], [0, 10**9]])
    elif lie == 1:
        entry["dtype"] = pick(rng, kinds)
    elif lie == 2:
        entry["data_offsets"] = pick(rng, [[0, 10**12], [8, 0], [-8, 8], [0, 8]])
    text = json.dumps(header).encode()
    length = len(text) if lie < 3 else int(pick(rng, [0, 7, 2**63, len(text) + 10**6]))
    return length.to_bytes(8, "little") + text + data
