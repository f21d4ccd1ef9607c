from pathlib import Path

import pytest

from genbayes.cli.console import check_paths
from genbayes.errors import InvalidInput, UnwritableFile


def test_different_files_in_an_existing_folder_are_fine(tmp_path: Path) -> None:
    check_paths([tmp_path / "a.csv"], {"--output": tmp_path / "m.gb", "--report": None})


def test_two_spellings_of_one_file_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidInput, match=r"--output must differ from the files that are read, got '.*' for both"):
        check_paths([tmp_path / "a.csv"], {"--output": tmp_path / "folder" / ".." / "a.csv"})


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFile, match="path must lie in an existing folder"):
        check_paths([], {"--report": tmp_path / "no" / "r.html"})
