"""The model file: what is written is read, anything else is refused in one sentence, nothing is lost."""

import os
from pathlib import Path

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
    assert (again.kind, again.values) == ("Part", {"x": 1})
    np.testing.assert_array_equal(again.arrays["w"], np.ones(2))
    assert set(again.arrays) == {"w"}


def test_a_wrong_shape_is_refused() -> None:
    with pytest.raises(UnreadableFile, match=r"array 'w' in the model file must have shape \(2, None\), got \(3,\)"):
        State("Thing", arrays={"w": np.zeros(3)}).array("w", (2, None))


@pytest.mark.parametrize("inner", [3, "text", {}, {"kind": 5}])
def test_a_part_without_a_kind_is_refused(inner: object) -> None:
    with pytest.raises(UnreadableFile, match="must name its kind"):
        State("Whole", {"inner": inner}).nested("inner")


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    return write_state(tmp_path / "model.gb", STATE)


def test_what_is_written_is_read(model_file: Path) -> None:
    state = read_state(model_file)
    assert state.kind == "Thing"
    assert state.values == STATE.values
    np.testing.assert_array_equal(state.arrays["w"], STATE.arrays["w"])


def test_the_manifest_is_readable_text(model_file: Path) -> None:
    head = model_file.read_bytes()[:2000].decode(errors="replace")
    assert head.startswith("genbayes model, format 1\n")
    assert '"class": "Thing"' in head
    assert '"torch": "' in head
    assert "Größe" in head


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


@pytest.mark.parametrize("kept", [0, 5, 30, 90, 200, -1])
def test_a_truncated_file_is_refused(model_file: Path, kept: int) -> None:
    model_file.write_bytes(model_file.read_bytes()[:kept])
    with pytest.raises(UnreadableFile, match=r"must (name a genbayes model file|be as it was written|have format)"):
        read_state(model_file)


def test_a_file_with_bytes_added_is_refused(model_file: Path) -> None:
    model_file.write_bytes(model_file.read_bytes() + b"x")
    with pytest.raises(UnreadableFile, match=r"must be as it was written, got other bytes .* \(cut short, extended"):
        read_state(model_file)


def test_an_oversized_file_is_refused_before_it_is_read(model_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_module, "LARGEST_FILE", 100)
    with pytest.raises(UnreadableFile, match="a model file must be at most 100 bytes, got"):
        read_state(model_file)


def test_a_file_of_another_version_is_refused(model_file: Path) -> None:
    content = model_file.read_bytes().replace(b"format 1\n", b"format 2\n", 1)
    model_file.write_bytes(content)
    with pytest.raises(UnreadableFile, match="must have format 1, got format 2 .* version of genbayes that wrote it"):
        read_state(model_file)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04zip", b"\x80\x04pickle", b"x,y\n1,2\n"])
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.gb"
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match="must name a genbayes model file, got .* which is not one"):
        read_state(path)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="must name a model file, got the directory"):
        read_state(tmp_path)
    with pytest.raises(UnwritableFile, match="must name a file, got the directory"):
        write_state(tmp_path, STATE)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFile, match="must lie in an existing folder, got .*; create .* first"):
        write_state(tmp_path / "nowhere" / "model.gb", STATE)


def test_a_failed_write_leaves_the_old_file_and_no_litter(model_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = model_file.read_bytes()

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(UnwritableFile, match="No space left on device"):
        write_state(model_file, State("Other"))
    assert model_file.read_bytes() == before
    assert [path.name for path in model_file.parent.iterdir()] == ["model.gb"]


def test_an_interrupted_write_leaves_the_old_file_and_no_litter(
    model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = model_file.read_bytes()

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_state(model_file, State("Other"))
    assert model_file.read_bytes() == before
    assert [path.name for path in model_file.parent.iterdir()] == ["model.gb"]


def test_a_class_that_is_not_in_the_table_is_never_imported(tmp_path: Path) -> None:
    path = write_state(tmp_path / "model.gb", State("os.system", {"command": "true"}))
    with pytest.raises(UnreadableFile, match=r"must hold a registered model, got 'os.system'"):
        load(path)


def test_a_well_formed_file_with_missing_parts_is_refused(tmp_path: Path) -> None:
    path = write_state(tmp_path / "model.gb", State("QuantileSurrogate", {"parameters": {}}))
    with pytest.raises(UnreadableFile, match="must hold the value 'n_features_in', got none"):
        load(path)


def test_nan_in_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_state(tmp_path / "model.gb", State("Thing", {"a": float("nan")}))
