"""Packages whose names are imported when first used, so that nobody waits for what they do not need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from sys import modules
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` (PEP 562) of a package that imports a name when it is first used.

    Args:
        package: Full name of the package.
        homes: Submodules, which are offered themselves, and the names to take from each, if any.

    Returns:
        The two functions, to be assigned in the package's `__init__`.

    Example:
        >>> get, names = lazy_names("genbayes.models.gp", {"stationary": ["fit_gp"]})
        >>> get("fit_gp").__module__, "FittedGP" in names()
        ('genbayes.models.gp.stationary', True)
    """
    home = {name: f"{package}.{module}" for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name in home:
            return getattr(import_module(home[name]), name)
        if name in homes:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def public() -> list[str]:
        return sorted(modules[package].__all__)

    return get, public
