"""Names are imported when first used: those of an eager package, without its price; `import genbayes` is quick."""

import importlib
import json
import subprocess
import sys
from typing import Any

import pytest

from genbayes.lazy import lazy_names


def run(program: str) -> Any:
    """What a program, run in a process of its own, prints as JSON."""
    return json.loads(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)


def test_import_loads_no_heavy_library() -> None:
    heavy = {"torch", "sklearn", "pandas", "matplotlib", "scipy"}
    assert not heavy & set(run("import json, sys, genbayes; print(json.dumps(sorted(sys.modules)))"))


def test_import_takes_under_three_tenths_of_a_second() -> None:
    timed = "import time; start = time.perf_counter(); import genbayes; print(time.perf_counter() - start)"
    assert min(run(timed) for _ in range(3)) < 0.3


def test_nothing_is_loaded_before_it_is_used() -> None:
    is_loaded = "'genbayes.models.gp.stationary' in sys.modules"
    program = f"import json, sys, genbayes.models.gp as gp; before = {is_loaded}; gp.fit_gp; "
    assert run(program + f"print(json.dumps([before, {is_loaded}]))") == [False, True]


def test_a_name_comes_from_its_home_and_a_submodule_is_itself() -> None:
    get, _ = lazy_names("genbayes.models.gp", {"stationary": ["fit_gp"], "kernels": []})
    from genbayes.models.gp import kernels
    from genbayes.models.gp.stationary import fit_gp

    assert get("fit_gp") is fit_gp
    assert get("kernels") is kernels


@pytest.mark.parametrize("package", ["", ".baselines", ".design", ".models", ".models.gp", ".report"])
def test_a_package_has_every_promised_name_and_refuses_others_as_usual(package: str) -> None:
    module = importlib.import_module(f"genbayes{package}")
    assert set(module.__all__) <= set(dir(module))
    assert all(getattr(module, name) is not None for name in module.__all__)
    home = f"genbayes{package}".replace("baselines", "models")  # the first is another name of the second
    with pytest.raises(AttributeError, match=f"module '{home}' has no attribute 'fit_pg'"):
        _ = module.fit_pg


def test_the_library_lists_exactly_its_public_names() -> None:
    import genbayes

    assert dir(genbayes) == sorted(genbayes.__all__)
