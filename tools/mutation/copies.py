"""Copies of the project in which files are changed: tests, documents and processes that tests start all see them."""

from __future__ import annotations

import os
import py_compile
import shutil
import subprocess
from pathlib import Path

PROBE = '''"""Which sites the running test has reached; other processes note theirs in a file."""
import os
reached = [set()]
owner, noted = None, set()
def hit(*numbers):
    if os.getpid() == owner:
        reached[-1].update(numbers)
        return
    for number in set(numbers) - noted:
        noted.add(number)
        if "MUTANT_HITS" in os.environ:
            with open(os.environ["MUTANT_HITS"], "a") as file:
                file.write(f"{number}\\n")
'''


def copy_project(root: Path, target: Path) -> Path:
    """Copy what git knows of, or would; compiled files are tied to the text of their source, not to its time."""
    if target.exists():
        shutil.rmtree(target)
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name)
    return target


def compile_project(copy: Path) -> None:
    """Compile every module once; one that is changed later no longer matches and is compiled anew, in memory."""
    for path in import_folders(copy):
        for source in Path(path).rglob("*.py"):
            py_compile.compile(str(source), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)


def import_folders(copy: Path) -> list[str]:
    """Folders of a copy that packages are imported from."""
    return [str(copy / name) for name in ("src", "benchmarks/src") if (copy / name).is_dir()]


def environment(copy: Path) -> dict[str, str]:
    """Variables for processes that work on a copy."""
    path = os.pathsep.join([*import_folders(copy), str(Path(__file__).parents[1])])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
