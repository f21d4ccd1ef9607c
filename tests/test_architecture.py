"""The architecture is a test: a file imports only lower layers and its own folder."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "genbayes"
LAYERS = [
    {"errors", "arrays", "lazy"},
    {"validation", "seeding", "deadline", "threads", "writing", "progress"},
    {"metrics", "plotting"},
    {"data", "persistence", "distribution"},
    {"training", "models/base", "models/protocols", "models/registry", "models/loading"},
    {"models/gp", "models/trees"},
    {"models/regimes"},
    {"models/network"},
    {"models/gp_informed", "models/jump_gp"},
    {"conformal", "diagnostics"},
    {"auto", "optimise"},
    {"design"},
    {"campaign"},
    {"inference", "analysis"},
    {"report", "adapters"},
    {"studio"},
    {"cli"},
]
LAYER = {place: number for number, places in enumerate(LAYERS, start=1) for place in places}
# Single files of one layer may use each other where this order is kept: the door before those who pass through.
IN_ORDER = [
    "errors", "arrays", "lazy", "validation", "seeding", "deadline", "threads", "writing", "progress",
    "persistence", "data", "distribution", "training", "models/protocols", "models/registry", "models/loading",
    "models/base",
]  # fmt: skip
ENTRANCES = {"__init__", "__main__", "baselines", "models/__init__"}  # names only, imported when first used


def place(module: str) -> str:
    """The room of a module, given as its path below genbayes without suffix."""
    parts = module.split("/")
    return "/".join(parts[:2]) if parts[0] == "models" else parts[0]


def imported_modules(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports must be absolute"
            module = node.module or ""
            found |= (
                {f"{module}.{a.name}" for a in node.names} if module in {"genbayes", "genbayes.models"} else {module}
            )
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.removeprefix("genbayes.").replace(".", "/") for name in found if name.startswith("genbayes.")}


def is_below(other: str, here: str) -> bool:
    if LAYER[other] == LAYER[here] and other in IN_ORDER and here in IN_ORDER:
        return IN_ORDER.index(other) < IN_ORDER.index(here)
    return LAYER[other] < LAYER[here]


MODULES = {str(path.relative_to(SOURCE).with_suffix("")): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}


@pytest.mark.parametrize("folder", sorted({place(module) for module in MODULES} - ENTRANCES))
def test_imports_point_down(folder: str) -> None:
    assert folder in LAYER, f"{folder} must have a layer, got none; name it in LAYERS"
    above = {
        f"{module}: {other}"
        for module, tree in MODULES.items()
        if place(module) == folder and module not in ENTRANCES
        for other in imported_modules(tree)
        if (room := place(other)) != folder and room in LAYER and not is_below(room, folder)
    }
    assert not above, f"{folder} must import only lower layers, got {sorted(above)}; move the shared idea down"


def test_every_module_says_what_it_holds_and_packages_what_is_public() -> None:
    silent = [module for module, tree in MODULES.items() if not ast.get_docstring(tree)]
    assert not silent, f"every module must open with a docstring, got none in {silent}"
    assigned = {
        (module, getattr(target, "id", ""))
        for module, tree in MODULES.items()
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
    }
    listing = {module for module, name in assigned if name == "__all__"}
    packages = {module for module, tree in MODULES.items() if module.endswith("__init__") and len(tree.body) > 1}
    assert listing - ENTRANCES == packages - ENTRANCES, "__all__ belongs to packages, and to all of them"


def test_matplotlib_lives_only_in_plotting() -> None:
    users = {
        place(module)
        for module, tree in MODULES.items()
        for statement in tree.body
        if not (isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING")
        for node in ast.walk(statement)
        if isinstance(node, (ast.Import, ast.ImportFrom)) and "matplotlib" in ast.unparse(node)
    }
    assert users <= {"plotting"}
