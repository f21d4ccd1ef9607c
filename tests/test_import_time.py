"""`import genbayes` is quick and pulls in neither torch nor scikit-learn nor pandas."""

import json
import subprocess
import sys

PROBE = """
import json, sys, time
start = time.perf_counter()
import genbayes
seconds = time.perf_counter() - start
heavy = ("torch", "sklearn", "pandas", "matplotlib", "scipy")
print(json.dumps([seconds, [name for name in heavy if name in sys.modules]]))
"""


def probe() -> tuple[float, list[str]]:
    out = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    seconds, loaded = json.loads(out.stdout)
    return seconds, loaded


def test_import_loads_no_heavy_library() -> None:
    assert probe()[1] == []


def test_import_takes_under_three_tenths_of_a_second() -> None:
    assert min(probe()[0] for _ in range(3)) < 0.3


def test_unknown_names_are_refused_as_usual() -> None:
    import pytest

    import genbayes

    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = genbayes.nonsense


def test_every_public_name_can_be_had() -> None:
    import genbayes

    for name in genbayes.__all__:
        assert getattr(genbayes, name) is not None
    assert dir(genbayes) == sorted(genbayes.__all__)
