"""Claims: exclusive, gone with the block, and gone with a process that is killed."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from genbayes.errors import UnwritableFile
from genbayes_bench import claims
from genbayes_bench.claims import Claimed, NoLocks, claim, claim_path, claims_of, clear_abandoned, running_in

KEY = ("bgp2", "paper", "gbc-aug", 1600, 3)
HOLD = """
import sys, time
from pathlib import Path
from genbayes_bench.claims import claim
with claim(Path(sys.argv[1]), ("bgp2", "paper", "gbc-aug", 1600, 3)):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the claim."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_claim_is_held_by_one_at_a_time(tmp_path) -> None:
    with claim(tmp_path, KEY), pytest.raises(Claimed, match="gbc-aug"), claim(tmp_path, KEY):
        pass
    with claim(tmp_path, KEY):
        pass


def test_a_claim_leaves_no_file(tmp_path) -> None:
    with claim(tmp_path, KEY):
        assert claim_path(tmp_path, KEY).exists()
    assert not claim_path(tmp_path, KEY).exists()


def test_a_claim_ends_with_an_error_inside(tmp_path) -> None:
    with pytest.raises(RuntimeError, match="inside"), claim(tmp_path, KEY):
        raise RuntimeError("inside")
    with claim(tmp_path, KEY):
        pass


def test_other_processes_are_kept_out(tmp_path, holder) -> None:
    with pytest.raises(Claimed, match="gbc-aug"), claim(tmp_path, KEY):
        pass
    assert claims_of(tmp_path, [KEY]) == ([KEY], [])


def test_the_claim_of_a_killed_process_lapses_at_once(tmp_path, holder) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert claims_of(tmp_path, [KEY]) == ([], [KEY])
    with claim(tmp_path, KEY):
        pass
    assert claims_of(tmp_path, [KEY]) == ([], [])


def test_only_what_the_dead_left_is_cleared(tmp_path, holder) -> None:
    other = (*KEY[:-1], 4)
    claim_path(tmp_path, other).write_text("left by somebody who died")
    clear_abandoned(tmp_path)
    assert claim_path(tmp_path, KEY).exists()
    assert not claim_path(tmp_path, other).exists()


def test_what_is_running_can_be_read_off_the_folder(tmp_path) -> None:
    assert running_in(tmp_path) == []
    with claim(tmp_path, KEY):
        assert running_in(tmp_path) == ["bgp2 gbc-aug 3"]


def test_of_many_who_want_a_claim_exactly_one_has_it_at_any_time(tmp_path) -> None:
    inside, most, had = [0], [0], [0]
    guard = threading.Lock()

    def fight() -> None:
        for _ in range(200):
            try:
                with claim(tmp_path, KEY):
                    with guard:
                        inside[0] += 1
                        most[0] = max(most[0], inside[0])
                        had[0] += 1
                    time.sleep(0)
                    with guard:
                        inside[0] -= 1
            except Claimed:
                continue

    fighters = [threading.Thread(target=fight) for _ in range(6)]
    for fighter in fighters:
        fighter.start()
    for fighter in fighters:
        fighter.join()
    assert most == [1]
    assert had[0] > 1


def test_a_folder_without_locks_is_told_and_used_all_the_same(tmp_path, monkeypatch) -> None:
    def refuse(handle, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(claims.fcntl, "flock", refuse)
    with pytest.warns(NoLocks, match="run one at a time"), claim(tmp_path, KEY):
        pass


@pytest.mark.parametrize("when", ["open", "write"])
def test_a_full_disk_shows_before_any_work(tmp_path, monkeypatch, when) -> None:
    def refuse(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, when, refuse)
    with pytest.raises(UnwritableFile, match="results must be writable, got .*No space left on device"):  # noqa: SIM117
        with claim(tmp_path, KEY):
            pytest.fail("nothing may be done")


def test_claims_hold_between_forked_processes(tmp_path) -> None:
    context = multiprocessing.get_context("spawn")
    with claim(tmp_path, KEY), context.Pool(1) as pool:
        assert pool.apply(_is_claimed, (tmp_path,))


def _is_claimed(folder) -> bool:
    try:
        with claim(folder, KEY):
            return False
    except Claimed:
        return True
