"""Packages that import a name when it is first used: the same names as an eager package, without its price."""

import subprocess
import sys

import pytest

from genbayes.lazy import lazy_names


def test_a_name_comes_from_its_home_and_a_submodule_is_itself() -> None:
    get, _ = lazy_names("genbayes.models.gp", {"stationary": ["fit_gp"], "kernels": []})
    from genbayes.models.gp import kernels
    from genbayes.models.gp.stationary import fit_gp

    assert get("fit_gp") is fit_gp
    assert get("kernels") is kernels


def test_a_name_that_is_not_there_is_refused_like_any_attribute() -> None:
    get, _ = lazy_names("genbayes.models.gp", {"stationary": ["fit_gp"]})
    with pytest.raises(AttributeError, match="module 'genbayes.models.gp' has no attribute 'fit_pg'"):
        get("fit_pg")


@pytest.mark.parametrize("package", ["", ".baselines", ".design", ".models", ".models.gp", ".report"])
def test_every_promised_name_of_a_package_can_be_had(package: str) -> None:
    import importlib

    module = importlib.import_module(f"genbayes{package}")
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name) is not None


def test_nothing_is_loaded_before_it_is_used() -> None:
    program = "import sys, genbayes.models.gp as gp; print('genbayes.models.gp.stationary' in sys.modules); gp.fit_gp; "
    program += "print('genbayes.models.gp.stationary' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
