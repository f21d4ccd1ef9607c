"""Programs end with whoever started them, with all their children."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from genbayes import Box
from genbayes.campaign.command import Command
from genbayes.campaign.running import SimulationFailed, Stopped, StopSignal
from genbayes.campaign.trial import Trial

TRIAL = Trial(1, {"x": 0.5}, lease=1)
DEAF = "trap '' TERM; echo \\$$ > child; while true; do sleep 0.1; done"
STUBBORN = f'sh -c "{DEAF}" & while ! test -s child; do sleep 0.01; done'


def shell(script: str, **settings) -> Command:
    return Command(["sh", "-c", script], Box({"x": (0.0, 1.0)}), **settings)


@pytest.fixture(autouse=True)
def child(tmp_path: Path, monkeypatch):
    """The number of the process that a program leaves behind, once it has written it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("genbayes.campaign.process.GRACE", 0.3)
    return lambda: int((tmp_path / "child").read_text())


@pytest.mark.parametrize("left", ["sleep 60 & echo $! > child", STUBBORN])
def test_what_a_program_leaves_behind_is_ended_when_it_has_answered(child, left: str, wait_for, is_gone) -> None:
    started = time.monotonic()
    assert shell(f"{left}; echo 7")(TRIAL) == (7.0,)
    assert is_gone(child()) or wait_for(lambda: is_gone(child())) is None
    assert time.monotonic() - started < 20


def test_a_child_that_ignores_the_signal_does_not_outlive_a_program_that_heeds_it(child, wait_for, is_gone) -> None:
    with pytest.raises(SimulationFailed, match="no result within 1 s; the program was stopped"):
        shell(f"{STUBBORN}; sleep 60", timeout=1.0)(TRIAL)
    wait_for(lambda: is_gone(child()))


def test_a_program_that_hangs_is_ended_with_its_children(child, wait_for, is_gone) -> None:
    started = time.monotonic()
    with pytest.raises(SimulationFailed, match="no result within 0.4 s; the program was stopped"):
        shell("sleep 60 & echo $! > child; wait", timeout=0.4)(TRIAL)
    assert time.monotonic() - started < 10
    wait_for(lambda: is_gone(child()))


def test_a_stop_signal_ends_the_program(child, wait_for, is_gone) -> None:
    stop = StopSignal()
    threading.Timer(0.3, stop.set).start()
    with pytest.raises(Stopped):
        shell("echo $$ > child; sleep 60", stop=stop)(TRIAL)
    wait_for(lambda: is_gone(child()))


PROGRAM = """
import sys
from genbayes import Box
from genbayes.campaign.command import Command
from genbayes.campaign.trial import Trial
Command(["sh", "-c", sys.argv[1]], Box({"x": (0.0, 1.0)}))(Trial(1, {"x": 0.5}, lease=1))
"""


@pytest.mark.parametrize("left", ["sleep 60 & echo $! > child; wait", f"{STUBBORN}; wait"])
def test_a_worker_that_is_killed_outright_leaves_neither_program_nor_children(
    child, tmp_path: Path, left: str, wait_for, is_gone
) -> None:
    worker = subprocess.Popen([sys.executable, "-c", PROGRAM, f"echo $$ > program; {left}"])
    wait_for(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip())
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    wait_for(lambda: is_gone(child()) and is_gone(int((tmp_path / "program").read_text())))


def test_the_dead_that_nobody_has_buried_are_not_waited_for(monkeypatch, wait_for, is_gone) -> None:
    """A container without an init keeps them, and with them their process group."""
    monkeypatch.setattr("genbayes.campaign.process.GRACE", 60.0)
    process = subprocess.Popen(["sh", "-c", "exit 0"], start_new_session=True)
    wait_for(lambda: is_gone(process.pid))
    from genbayes.campaign.process import _has_living

    assert not _has_living(process.pid)
    process.wait()
