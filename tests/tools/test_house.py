"""The yardstick of the source counts what it says, on a made-up tree."""

import pytest

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


@pytest.fixture
def house(tool):
    return tool("house")


@pytest.fixture
def package(tmp_path):
    (tmp_path / "heat.py").write_text(SOURCE)
    (tmp_path / "gp").mkdir()
    (tmp_path / "gp" / "process.py").write_text("class HeteroskedasticGP:\n    pass\n")
    (tmp_path / "gp" / "__init__.py").write_text("from gp.process import HeteroskedasticGP\n")
    (tmp_path / "registry.py").write_text('MODELS = {"het-gp": "gp.process:HeteroskedasticGP"}\n')
    return tmp_path


def test_the_shape_counts_headers_plain_any_and_functions_that_are_long_without_docstrings(house, package, monkeypatch):
    assert house.measure_shape(package).long_functions == []
    monkeypatch.setattr(house, "MOST_FUNCTION", 1)
    shape = house.measure_shape(package)
    assert (shape.n_files, shape.n_lines, shape.n_header) == (4, 19, 7)  # what stands before the first other statement
    assert (shape.n_any_arguments, shape.n_any_results) == (3, 1)
    assert shape.long_functions == ["heat.py:10 fit (2)", "heat.py:14 name (2)"]


def test_a_model_is_registered_where_others_name_it(house, package):
    assert house.registrations(package)["HeteroskedasticGP"] == ["registry.py"]


STEPS = """
class Model:
    get_params = None
    def fit(self):
        return inner()
class Chooser(Model):
    def fit(self, model):
        return [inner() for _ in 'ab'], model.fit()
def inner():
    return 1
"""


def test_a_walk_notes_functions_of_the_package_and_skips_other_estimators(house, tmp_path):
    names = {}
    exec(compile(STEPS, str(tmp_path / "steps.py"), "exec"), names)
    chooser = names["Chooser"]()
    with house.Walk(tmp_path, chooser) as walk:
        chooser.fit(names["Model"]())
    assert walk.functions == {"steps.py Chooser.fit", "steps.py inner"}
    assert sorted(walk.calls.values()) == [1, 2]


@pytest.mark.parametrize(
    ("file", "above"), [("errors.py", []), ("metrics/crps.py", [2]), ("optimise.py", [2, 4]), ("a/b.py", [2, 4])]
)
def test_layers_of_files(house, file, above):
    assert [layer for layer in (2, 4) if house.is_above(file, layer)] == above
