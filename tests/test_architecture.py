"""The architecture is a test: a file imports only lower layers and its own folder (STYLE, example 10)."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "genbayes"
LAYER = {
    "errors": 1, "arrays": 1, "lazy": 1,
    "validation": 2, "seeding": 2, "categories": 2, "scaling": 2, "writing": 2, "deadline": 2,
    "metrics": 2, "plotting": 2,
    "persistence": 3, "data": 3, "training": 3, "distribution": 3, "gp": 3,
    "models": 3.5,
    "features": 4, "network": 4, "tabular": 4,
    "surrogate": 5, "baselines": 5,
    "calibration": 6, "optimise": 6,
    "selection": 7,
    "design": 8,
    "analysis": 9,
    "reports": 10,
    "cli": 12,
}  # fmt: skip
# Single files of one layer may use each other where the order below is kept: the door before those who pass through.
FILES_IN_ORDER = ["errors", "arrays", "lazy", "validation", "seeding", "categories", "scaling", "writing", "deadline"]
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.name != "__init__.py")


def place(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_places(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} must use absolute imports"
            names = [node.module or ""] if node.module != "genbayes" else [f"genbayes.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("genbayes.")}
    return found


def is_below(other: str, folder: str) -> bool:
    if other in FILES_IN_ORDER and folder in FILES_IN_ORDER:
        return FILES_IN_ORDER.index(other) < FILES_IN_ORDER.index(folder)
    if other == "validation":  # the one door is open to everyone above layer 1
        return LAYER[folder] >= 2
    return LAYER[other] < LAYER[folder] or (other in FILES_IN_ORDER and LAYER[folder] >= LAYER[other])


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    folder = place(path)
    if path.relative_to(SOURCE).as_posix() == "models/__init__.py":  # re-exports for type checkers what stands above
        return
    above = sorted(
        other for other in imported_places(path) - {folder} if other in LAYER and not is_below(other, folder)
    )
    assert not above, f"{folder} must import only lower layers, got {above}; move the shared idea down"


def test_every_folder_has_a_layer() -> None:
    assert {place(path) for path in MODULES} - {"__main__"} <= set(LAYER)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_says_what_it_holds_and_what_is_public(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), f"{path} must open with a docstring"
    if path.name != "__init__.py" or len(tree.body) > 1:
        names = [t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)]
        assert "__all__" in names, f"{path} must define __all__"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_matplotlib_lives_only_in_plotting(path: Path) -> None:
    if place(path) != "plotting":
        assert "import matplotlib" not in path.read_text().replace("    from matplotlib.axes import Axes", "")
