"""The old name of `genbayes.models`, which goes on working for one minor version."""

from typing import Any

from genbayes import models

__all__ = models.__all__


def __getattr__(name: str) -> Any:
    return getattr(models, name)


def __dir__() -> list[str]:
    return models.__all__
