"""Mutants are drawn from code that runs only, and found again wherever it has gone."""

import ast
from types import ModuleType

import pytest

SOURCE = '''"""A docstring with 1 < 2."""
LIMIT: int = 3


class Clock:
    def left(self, used: float = 0.5) -> float:
        """Less than 4."""
        if used < 0:
            raise ValueError(f"used must be at least 0, got {used + 1}")
        return max(0.0, LIMIT - used)
'''


@pytest.fixture
def sites(tool) -> ModuleType:
    return tool("mutation.sites")


def test_only_code_that_runs_is_changed(sites: ModuleType) -> None:
    found = [each.mutant for each in sites.sites_of(SOURCE, "a.py")]
    assert [each.function for each in found] == ["<module>", *["Clock.left"] * 8]
    assert [(each.before, each.after) for each in found] == [
        *(("3", "4"), ("0.5", "1.0")),
        *(("used < 0", "not used < 0"), ("used < 0", "used <= 0"), ("0", "1")),
        *(("max(0.0, LIMIT - used)", "None"), ("max(0.0, LIMIT - used)", "min(0.0, LIMIT - used)")),
        *(("0.0", "1.0"), ("LIMIT - used", "LIMIT + used")),
    ]


def test_a_change_changes_its_expression_and_nothing_else(sites: ModuleType) -> None:
    changed = sites.apply_change(SOURCE, 8)
    assert changed.replace("LIMIT + used", "LIMIT - used") == ast.unparse(ast.parse(SOURCE))


@pytest.mark.parametrize(
    ("old", "new", "how"),
    [
        ("LIMIT: int = 3", "import os\nLIMIT: int = 3", "exact"),
        ("LIMIT", "MOST", "renamed"),
        ("max(0.0, LIMIT - used)", "max(0.0, LIMIT - self.used)", "closest in its function"),
        ("class Clock", "class Watch", "closest in a function of its name"),
        ("def left", "def remaining", "the same statement in another function"),
        ("LIMIT - used", "rest", "no such expression in left"),
    ],
)
def test_a_mutant_is_found_again(old: str, new: str, how: str, sites: ModuleType) -> None:
    mutant = sites.sites_of(SOURCE, "a.py")[8].mutant
    moved = sites.sites_of(SOURCE.replace(old, new), "elsewhere.py")
    site, found = sites.Index(moved, {"LIMIT": "MOST"} if how == "renamed" else {}).find(mutant)
    assert found == how
    assert (site is None) == how.startswith("no")
    assert site is None or site.mutant.operator == "arithmetic"
