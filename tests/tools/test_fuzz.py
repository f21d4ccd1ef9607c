"""The fuzzer finds every registered class, its damage can be made again, and what it must not find is not there."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from genbayes.models.registry import registered_models
from genbayes.persistence import State, write_state

SOME = ["StationaryGP", "SparseGP", "BoostedQuantiles"]  # quick to make


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def test_every_maker_is_of_a_registered_class(tool) -> None:
    makers = tool("fuzzing.makers")
    known = {entry.disk_name for entry in registered_models().values()}
    assert known < set(makers.all_classes())
    assert set(makers.MAKERS) <= set(makers.all_classes())


@pytest.mark.parametrize("name", SOME)
def test_damaged_files_are_refused_or_answered_and_nothing_else(tool, files: Path, name: str) -> None:
    makers, cases = tool("fuzzing.makers"), tool("fuzzing.cases")
    read = cases.read_files(makers.make_files(files, name))
    assert read
    outcomes = set()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number in range(60):
            place = files / "case.bin"
            place.write_bytes(cases.case_bytes(read, 1, number)[1])
            outcomes.add(cases.try_file(place))
    assert {"refused", "answered"} <= outcomes


def test_a_case_is_the_same_file_whenever_it_is_made(tool, files: Path) -> None:
    cases = tool("fuzzing.cases")
    read = cases.read_files(tool("fuzzing.makers").make_files(files, "SparseGP"))
    assert cases.case_bytes(read, 0, 7) == cases.case_bytes(read, 0, 7)
    assert cases.case_bytes(read, 0, 7) != cases.case_bytes(read, 0, 8)


def test_a_manifest_that_grows_beyond_measure_is_not_written_out(tool, monkeypatch) -> None:
    damage = tool("fuzzing.damage")

    def grow(draft, rng) -> None:
        draft.values["a"] = [draft.values["a"]] * 10_000  # 10^16 values at the fourth time

    monkeypatch.setattr(damage, "DAMAGE", [(1, grow)])
    rng = np.random.default_rng(0)
    contents = [damage.damaged("StationaryGP", {"a": [1]}, {"x": np.zeros(2)}, rng) for _ in range(20)]
    assert max(map(len, contents)) < 200_000


def test_values_that_are_referred_to_twice_count_twice(tool) -> None:
    part = [1, {"b": 2}]
    assert tool("fuzzing.damage").count_values({"a": part, "c": [part, part]}) == 2 + 3 + 2 + 3 + 3


def test_an_error_that_is_not_ours_or_hides_a_lack_of_memory_is_a_finding(tool, tmp_path: Path, monkeypatch) -> None:
    cases = tool("fuzzing.cases")
    path = write_state(tmp_path / "a.gb", State("StationaryGP"))
    assert cases.try_file(path) == "refused"
    for error in (IndexError("x"), MemoryError("Unable to allocate 3 GiB")):
        monkeypatch.setattr(cases, "load", lambda _, error=error: (_ for _ in ()).throw(error))
        with pytest.raises(type(error), match=str(error)):
            cases.try_file(path)
    hidden = cases.UnreadableFile("the model file must describe a complete GP")
    hidden.__cause__ = RuntimeError("DefaultCPUAllocator: can't allocate memory")
    monkeypatch.setattr(cases, "load", lambda _: (_ for _ in ()).throw(hidden))
    with pytest.raises(MemoryError, match="must describe a complete"):
        cases.try_file(path)
