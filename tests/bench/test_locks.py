"""Locks: exclusive, gone with the block, and gone with a process that is killed."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from genbayes.errors import UnwritableFile
from genbayes_bench import locks
from genbayes_bench.locks import Locked, NoLocks, is_locked, lock, lock_path, remove_stale, running_in

KEY = ("bgp2", "paper", "gbc-aug", 1600, 3)
HOLD = """
import sys, time
from pathlib import Path
from genbayes_bench.locks import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return lock_path(tmp_path, KEY)


@pytest.fixture
def holder(path: Path):
    """Another process that holds the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_lock_is_held_by_one_at_a_time_and_leaves_no_file(path: Path) -> None:
    with lock(path), pytest.raises(Locked, match="gbc-aug"), lock(path):
        pass
    assert not path.exists()
    with lock(path):
        assert path.exists()


def test_a_lock_ends_with_an_error_inside(path: Path) -> None:
    with pytest.raises(RuntimeError, match="inside"), lock(path):
        raise RuntimeError("inside")
    assert not path.exists()


def test_other_processes_are_kept_out(path: Path, holder) -> None:
    with pytest.raises(Locked, match="gbc-aug"), lock(path):
        pass
    assert is_locked(path)


def test_the_lock_of_a_killed_process_ends_at_once(path: Path, holder) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert path.exists()
    assert not is_locked(path)
    with lock(path):
        pass
    assert not path.exists()


def test_only_what_the_dead_left_is_removed(tmp_path: Path, path: Path, holder) -> None:
    left = lock_path(tmp_path, (*KEY[:-1], 4))
    left.write_text("")
    remove_stale(tmp_path)
    assert path.exists()
    assert not left.exists()


def test_what_is_running_can_be_read_off_the_folder(tmp_path: Path, path: Path) -> None:
    with lock(path):
        assert running_in(tmp_path) == ["bgp2 gbc-aug 3"]
    assert running_in(tmp_path) == []


def test_of_many_who_want_a_lock_exactly_one_has_it_at_any_time(path: Path) -> None:
    inside, most, had = [0], [0], [0]
    guard = threading.Lock()

    def fight() -> None:
        for _ in range(200):
            try:
                with lock(path):
                    with guard:
                        inside[0] += 1
                        most[0] = max(most[0], inside[0])
                        had[0] += 1
                    time.sleep(0)
                    with guard:
                        inside[0] -= 1
            except Locked:
                continue

    fighters = [threading.Thread(target=fight) for _ in range(6)]
    for fighter in fighters:
        fighter.start()
    for fighter in fighters:
        fighter.join()
    assert most == [1]
    assert had[0] > 1


def test_a_folder_without_locks_is_told_and_used_all_the_same(path: Path, monkeypatch) -> None:
    def refuse(handle, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks.fcntl, "flock", refuse)
    with pytest.warns(NoLocks, match="run one at a time"), lock(path):
        pass


def test_a_full_disk_shows_before_any_work(path: Path, monkeypatch) -> None:
    def refuse(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(UnwritableFile, match="results must be writable, got .*No space left on device"), lock(path):
        pytest.fail("nothing may be done")
