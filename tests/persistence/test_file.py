"""The model file: what is written is read, anything else is refused in one sentence, nothing is lost."""

import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genbayes import load
from genbayes.errors import UnreadableFile, UnwritableFile
from genbayes.persistence import State, read_state, write_state
from genbayes.persistence import file as file_module

STATE = State("Thing", {"a": [1, 2.5, None], "name": "Größe"}, {"w": np.arange(6.0).reshape(2, 3)})


def test_a_part_comes_back_as_it_went_in() -> None:
    part = State("Part", {"x": 1}, {"w": np.ones(2)})
    again = State("Whole", {"y": 2}, {"v": np.zeros(1)}).with_part("inner", part).nested("inner")
    assert (again.kind, again.values, set(again.arrays)) == ("Part", {"x": 1}, {"w"})
    np.testing.assert_array_equal(again.arrays["w"], np.ones(2))


@pytest.mark.parametrize("inner", [3, "text", {}, {"kind": 5}])
def test_a_part_without_a_kind_is_refused(inner: object) -> None:
    with pytest.raises(UnreadableFile, match="must name its kind"):
        State("Whole", {"inner": inner}).nested("inner")


def test_a_wrong_shape_is_refused() -> None:
    with pytest.raises(UnreadableFile, match=r"array 'w' in the model file must have shape \(2, None\), got \(3,\)"):
        State("Thing", arrays={"w": np.zeros(3)}).array("w", (2, None))


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    return write_state(tmp_path / "model.gb", STATE)


def test_what_is_written_is_read_by_programs_and_by_people(model_file: Path) -> None:
    state = read_state(model_file)
    assert (state.kind, state.values) == ("Thing", STATE.values)
    np.testing.assert_array_equal(state.arrays["w"], STATE.arrays["w"])
    head = model_file.read_bytes()[:2000].decode(errors="replace")
    assert head.startswith("genbayes model, format 1\n")
    assert all(text in head for text in ('"class": "Thing"', '"torch": "', "Größe"))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_flipped_bit_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = write_state(tmp_path_factory.mktemp("flip") / "model.gb", STATE)
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match=r"^(the model file|path) must .*, got .*"):
        read_state(path)


CUT = r"must (name a genbayes model file|be as it was written|have format)"
FOREIGN = "must name a genbayes model file, got .* which is not one"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        *[(lambda content, kept=kept: content[:kept], CUT) for kept in (0, 5, 30, 90, 200, -1)],
        (lambda content: content + b"x", r"must be as it was written, got other bytes .* \(cut short, extended"),
        (
            lambda content: content.replace(b"format 1\n", b"format 2\n", 1),
            "must have format 1, got format 2 .* version of genbayes that wrote it",
        ),
        *[(lambda _, other=other: other, FOREIGN) for other in (b"", b"PK\x03\x04zip", b"\x80\x04pickle", b"x\n1,2\n")],
    ],
)
def test_a_changed_or_foreign_file_is_refused(model_file: Path, change: Callable[[bytes], bytes], sentence) -> None:
    model_file.write_bytes(change(model_file.read_bytes()))
    with pytest.raises(UnreadableFile, match=sentence):
        read_state(model_file)


def test_an_oversized_file_is_refused_before_it_is_read(model_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_module, "LARGEST_FILE", 100)
    with pytest.raises(UnreadableFile, match="a model file must be at most 100 bytes, got"):
        read_state(model_file)


def test_a_directory_is_neither_read_nor_written_and_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="must name a model file, got the directory"):
        read_state(tmp_path)
    with pytest.raises(UnwritableFile, match="must name a file, got the directory"):
        write_state(tmp_path, STATE)
    with pytest.raises(UnwritableFile, match="must lie in an existing folder, got .*; create .* first"):
        write_state(tmp_path / "nowhere" / "model.gb", STATE)


@pytest.mark.parametrize(
    ("event", "raised", "sentence"),
    [
        (OSError(28, "No space left on device"), UnwritableFile, "No space left on device"),
        (KeyboardInterrupt("by hand"), KeyboardInterrupt, "by hand"),
    ],
)
def test_a_write_that_fails_leaves_the_old_file_and_no_litter(
    model_file: Path, monkeypatch, event: BaseException, raised: type[BaseException], sentence: str
) -> None:
    before = model_file.read_bytes()
    monkeypatch.setattr(os, "fsync", Mock(side_effect=event))
    with pytest.raises(raised, match=sentence):
        write_state(model_file, State("Other"))
    assert model_file.read_bytes() == before
    assert [path.name for path in model_file.parent.iterdir()] == ["model.gb"]


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (State("os.system", {"command": "true"}), "must hold a registered model, got 'os.system'"),
        (State("QuantileSurrogate", {"parameters": {}}), "must hold the value 'n_features_in', got none"),
    ],
)
def test_a_well_formed_file_of_no_model_is_refused_and_nothing_imported(tmp_path: Path, state: State, sentence) -> None:
    with pytest.raises(UnreadableFile, match=sentence):
        load(write_state(tmp_path / "model.gb", state))


def test_nan_in_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_state(tmp_path / "model.gb", State("Thing", {"a": float("nan")}))
