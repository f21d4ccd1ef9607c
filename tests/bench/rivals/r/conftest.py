"""A fake `Rscript` on the PATH: a few lines of Python that speak as R would, so that the bridge is tested without R."""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

PRELUDE = """#!{python} -S
import json, os, shutil, sys, time
options = [word for word in sys.argv[1:] if word.startswith("--")]
script, *arguments = [word for word in sys.argv[1:] if not word.startswith("--")]
seen = {seen!r}
def read(name):
    with open(name) as file:
        return [[float(word) for word in line.split(",")] for line in file]
def answer(*rows):
    with open("prediction.csv", "w") as file:
        file.writelines(",".join(map(str, row)) + "\\n" for row in rows)
with open(os.path.join(seen, "call.json"), "w") as file:
    json.dump({{"options": options, "script": script, "arguments": arguments, "folder": os.getcwd()}}, file)
for name in filter(os.path.isfile, os.listdir(".")):
    shutil.copy(name, seen)
"""


class FakeR:
    """What the last call of the fake saw."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def call(self) -> dict:
        return json.loads((self.folder / "call.json").read_text())

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the bridge makes its temporary folders."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def fake_r(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], FakeR]:
    if os.name != "posix":
        pytest.skip("the fake Rscript is a script with a #! line")

    def install(body: str) -> FakeR:
        programs, seen = tmp_path / "bin", tmp_path / "seen"
        programs.mkdir(exist_ok=True)
        seen.mkdir(exist_ok=True)
        program = programs / "Rscript"
        program.write_text(PRELUDE.format(python=sys.executable, seen=str(seen)) + body)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
        return FakeR(seen)

    return install


@pytest.fixture
def no_r(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
