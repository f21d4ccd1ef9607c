"""The yardstick of the source counts what it says, on a made-up tree."""

import importlib.util
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "tools" / "house.py"
SOURCE = '''"""A docstring
of two lines."""

from typing import Any

__all__ = ["Heat"]


class Heat:
    def fit(self, X: Any, y: "Any", *rest: Any, n: int = 3, **more: list[Any]) -> Any:
        """Not counted."""
        return X

    def name(self, x: dict[str, Any]) -> str:
        return "HeteroskedasticGP is prose"
'''


@pytest.fixture(scope="module")
def house():
    spec = importlib.util.spec_from_file_location("house", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["house"]


@pytest.fixture
def package(tmp_path):
    (tmp_path / "heat.py").write_text(SOURCE)
    (tmp_path / "gp").mkdir()
    (tmp_path / "gp" / "process.py").write_text("class HeteroskedasticGP:\n    pass\n")
    (tmp_path / "gp" / "__init__.py").write_text("from gp.process import HeteroskedasticGP\n")
    (tmp_path / "registry.py").write_text('MODELS = {"het-gp": "gp.process:HeteroskedasticGP"}\n')
    return tmp_path


def test_headers_are_what_stands_before_the_first_other_statement(house, package):
    shape = house.measure_shape(package)
    assert (shape.n_files, shape.n_lines, shape.n_header) == (4, 19, 7)


def test_only_a_plain_any_counts(house, package):
    shape = house.measure_shape(package)
    assert (shape.n_any_arguments, shape.n_any_results) == (3, 1)


def test_docstrings_do_not_make_a_function_long(house, package, monkeypatch):
    monkeypatch.setattr(house, "MOST_FUNCTION", 1)
    assert house.measure_shape(package).long_functions == ["heat.py:10 fit (2)", "heat.py:14 name (2)"]


def test_a_model_is_registered_where_others_name_it(house, package):
    assert house.registrations(package)["HeteroskedasticGP"] == ["registry.py"]


def test_a_walk_notes_functions_of_the_package_and_skips_other_estimators(house, tmp_path):
    (tmp_path / "steps.py").write_text(
        "class Model:\n    get_params = None\n    def fit(self):\n        return inner()\n"
        "class Chooser(Model):\n    def fit(self, model):\n        return [inner() for _ in 'ab'], model.fit()\n"
        "def inner():\n    return 1\n"
    )
    names = {}
    exec(compile((tmp_path / "steps.py").read_text(), str(tmp_path / "steps.py"), "exec"), names)
    chooser = names["Chooser"]()
    with house.Walk(tmp_path, chooser) as walk:
        chooser.fit(names["Model"]())
    assert walk.functions == {"steps.py Chooser.fit", "steps.py inner"}
    assert sorted(walk.calls.values()) == [1, 2]


@pytest.mark.parametrize(
    ("file", "above_two", "above_four"),
    [
        ("errors.py", False, False),
        ("optimise.py", True, True),
        ("metrics/crps.py", True, False),
        ("a/b.py", True, True),
    ],
)
def test_layers_of_files(house, file, above_two, above_four):
    assert (house.is_above(file, 2), house.is_above(file, 4)) == (above_two, above_four)
