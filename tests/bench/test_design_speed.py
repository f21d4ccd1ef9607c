"""Times of designs: of the ensemble that is named, and never measured for a place that cannot be written."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from genbayes.errors import UnwritableFile
from genbayes_bench.studies.design import speed
from genbayes_bench.studies.design.__main__ import main
from genbayes_bench.studies.speed.result import Result


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Measurements that take no time, by name as they are made."""
    made: list[str] = []

    def measure(name: str) -> list[Result]:
        made.append(name)
        return [Result(name, "1 s", "", None)]

    monkeypatch.setattr(speed, "measure_ask", lambda: measure("ask"))
    monkeypatch.setattr(speed, "measure_acquisitions", lambda n: measure(f"{n} acquisitions"))
    return made


def test_the_folder_of_the_figures_is_made(measured: list[str], tmp_path: Path) -> None:
    path = tmp_path / "not" / "there" / "speed.json"
    speed.measure_speed(2, path)
    assert [each["what"] for each in json.loads(path.read_text())["results"]] == measured == ["ask", "2 acquisitions"]


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_measured(
    measured: list[str], tmp_path: Path
) -> None:
    with pytest.raises(UnwritableFile, match="path must name a file, got the directory"):
        speed.measure_speed(2, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableFile, match="path must lie in a folder, got .*/file'"):
        speed.measure_speed(2, tmp_path / "file" / "speed.json")
    assert measured == []


def test_the_command_says_so_in_one_sentence(
    measured: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["design", "speed", "-o", str(tmp_path)])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "path must name a file" in capsys.readouterr().err


def test_the_networks_that_are_named_are_those_that_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Any] = []

    class Middle:
        def __init__(self, model: Any) -> None:
            used.append(model)

        def propose(self, *about: Any) -> np.ndarray:
            return np.full((1, 3), 0.5)

    monkeypatch.setattr(speed, "ModelProposer", Middle)
    monkeypatch.setattr(speed, "N_NETWORKS", 7)
    (result,) = speed.measure_acquisitions(2)
    assert [model.n_members for model in used] == [7]
    assert result.what.endswith("7 networks")
