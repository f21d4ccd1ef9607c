"""Files appear whole or not at all (what a failed write leaves behind is tested with the model file)."""

import os
from pathlib import Path

import pytest

from genbayes.errors import UnwritableFile
from genbayes.writing import check_writable, write_atomically


def test_a_file_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_name_as_long_as_names_may_be_is_written(tmp_path: Path) -> None:
    longest = tmp_path / ("é" * 126 + ".gb")  # 255 bytes; the file written first, beside it, has a name of its own
    assert write_atomically(check_writable(longest), b"whole").read_bytes() == b"whole"


def test_a_new_file_has_the_permissions_of_the_mask(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        assert write_atomically(tmp_path / "note.txt", b"").stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(mask)


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        (".", "path must name a file, got the directory"),
        ("missing/note.txt", "path must lie in an existing folder, got .*; create .* first"),
        (os.devnull, "path must name an ordinary file, got"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path, where: str, sentence: str) -> None:
    with pytest.raises(UnwritableFile, match=sentence):
        check_writable(tmp_path / where)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_without_permission_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UnwritableFile, match="path must be writable"):
        check_writable(tmp_path / "note.txt")
