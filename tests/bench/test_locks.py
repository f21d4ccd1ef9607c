"""Locks: exclusive, gone with the block, and gone with a process that is killed."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

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
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_lock_is_held_by_one_at_a_time_and_can_be_seen_in_the_folder_until_its_block_ends(tmp_path, path) -> None:
    with lock(path), pytest.raises(Locked, match="gbc-aug"), lock(path):
        pass
    assert (path.exists(), running_in(tmp_path)) == (False, [])
    with lock(path):
        assert (path.exists(), running_in(tmp_path)) == (True, ["bgp2 gbc-aug 3"])
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


def test_of_many_who_want_a_lock_exactly_one_has_it_at_any_time(path: Path) -> None:
    inside, seen = [], []

    def fight() -> None:
        for _ in range(200):
            with suppress(Locked), lock(path):
                inside.append(threading.get_ident())
                time.sleep(0)
                seen.append(len(inside))
                inside.pop()

    fighters = [threading.Thread(target=fight) for _ in range(6)]
    for fighter in fighters:
        fighter.start()
    for fighter in fighters:
        fighter.join()
    assert set(seen) == {1}
    assert len(seen) > 1


def test_a_folder_without_locks_is_told_and_used_all_the_same(path: Path, monkeypatch) -> None:
    monkeypatch.setattr(locks.fcntl, "flock", Mock(side_effect=OSError(errno.ENOLCK, "No locks available")))
    with pytest.warns(NoLocks, match="run one at a time"), lock(path):
        pass


def test_a_full_disk_shows_before_any_work(path: Path, monkeypatch) -> None:
    monkeypatch.setattr(os, "open", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
    with pytest.raises(UnwritableFile, match="results must be writable, got .*No space left on device"), lock(path):
        pytest.fail("nothing may be done")
