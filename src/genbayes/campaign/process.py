"""Programs that end with whoever started them: each has a process group of its own, which is ended as a whole.

The group is ended always: when the program has given its answer, when its time is up, when the worker is told to stop,
and, by a guardian, when the worker itself is killed. What cannot be caught is a program that leaves its group (by
`setsid`, as daemons do), hands its work to others (schedulers, container services, other machines) or runs as another
user, and the moment between its start and the note of it to the guardian.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from genbayes.campaign.running import SimulationFailed, Stopped, StopSignal
from genbayes.errors import SimulatorBroken

GRACE = 5.0  # seconds between asking a program to end and making it
POLL = 0.1  # seconds between two looks at the stop signal
LOOK = 0.01  # seconds between two looks whether a group is gone
STDERR_TAIL = 2_000  # bytes of what a failed program complained about

# Reads process groups, one a line, until its worker is gone; the last one, if any, is ended: asked first, then made to.
GUARDIAN = """
trap '' HUP INT TERM QUIT
group=
while read -r line; do group=$line; done
test -n "$group" || exit 0
kill -s TERM -- "-$group" 2>/dev/null || exit 0
for _ in 1 2 3 4 5 6 7 8 9 10; do
    sleep 0.5
    kill -s 0 -- "-$group" 2>/dev/null || exit 0
done
kill -s KILL -- "-$group" 2>/dev/null
"""


def run_program(
    words: Sequence[str],
    environment: Mapping[str, str],
    given: IO[bytes],
    output: IO[bytes],
    errors: IO[bytes],
    timeout: float | None,
    stop: StopSignal,
) -> int:
    """Run a program to its end; whatever it has started and left behind is ended, too.

    Args:
        words: The program and its arguments.
        environment: Its environment variables.
        given: Its standard input.
        output: Where its standard output goes.
        errors: Where its error output goes.
        timeout: Seconds that it may take; None for no limit.
        stop: Set from elsewhere to end it.

    Returns:
        Its exit code.

    Raises:
        SimulationFailed: Its time was up.
        Stopped: The stop signal came while it ran.
    """
    with _guardian() as guard:
        process = _start(words, environment, given, output, errors)
        _note(guard, process.pid)
        started = time.monotonic()
        try:
            while True:
                try:
                    return process.wait(POLL)
                except subprocess.TimeoutExpired:
                    if stop.is_set():
                        raise Stopped from None
                    if timeout is not None and time.monotonic() - started > timeout:
                        late = f"no result within {timeout:g} s; the program was stopped"
                        raise SimulationFailed(late + complaint(errors)) from None
        finally:
            end_group(process)
            _note(guard, "")  # nothing is left to be ended


def _start(
    words: Sequence[str], environment: Mapping[str, str], given: IO[bytes], output: IO[bytes], errors: IO[bytes]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            words, stdin=given, stdout=output, stderr=errors, env=environment, start_new_session=True
        )
    except (OSError, ValueError) as error:  # ValueError: a null byte in a word
        raise SimulatorBroken(f"command must name a program that can be run, got {words[0]!r}; {error}") from error


@contextmanager
def _guardian() -> Iterator[IO[bytes]]:
    """A process that outlives this one if it is killed; what is written to it are groups to be ended then.

    Linux could tie the life of the program itself to ours, but not that of its children, which do the work where the
    program is a script. Here the end of a pipe says that the worker is gone, whatever the system.
    """
    nowhere = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            ["sh", "-c", GUARDIAN],
            stdin=subprocess.PIPE,
            stdout=nowhere,
            stderr=nowhere,
            bufsize=0,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise SimulatorBroken(f"sh must be installed to watch over the program, got none; {error}") from error
    assert process.stdin is not None
    try:
        yield process.stdin
    finally:
        with suppress(OSError):
            process.stdin.close()
        process.wait()


def _note(guard: IO[bytes], group: int | str) -> None:
    with suppress(OSError):  # somebody has ended it: then the program is left alone if we are killed, no worse
        guard.write(f"{group}\n".encode())


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a program and all of its process group: ask first, then insist."""
    _signal_group(process.pid, signal.SIGTERM)
    until = time.monotonic() + GRACE
    while _is_alive(process):
        if time.monotonic() > until:
            _signal_group(process.pid, signal.SIGKILL)
            break
        time.sleep(LOOK)
    process.wait()


def _signal_group(group: int, number: int) -> bool:
    """Whether there was anybody to hear it; a group number is not given away again while somebody is in it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _is_alive(process: subprocess.Popen[bytes]) -> bool:
    if process.poll() is None:
        return True
    return _signal_group(process.pid, 0) and _has_living(process.pid)


def _has_living(group: int) -> bool:
    """Whether a group has members that have not ended: one that nobody has buried keeps the group, but does nothing."""
    stats = Path("/proc").glob("[0-9]*/stat")
    if not Path("/proc/self/stat").exists():  # not Linux: believe it
        return True
    for stat in stats:
        with suppress(OSError, ValueError, IndexError):
            state, _, found = stat.read_text().rpartition(")")[2].split()[:3]  # after the name, which may hold anything
            if int(found) == group and state not in "ZX":
                return True
    return False


def tail(stream: IO[bytes], n_bytes: int) -> str:
    """The last bytes of a stream as text."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - n_bytes))
    return stream.read().decode(errors="replace")


def complaint(errors: IO[bytes]) -> str:
    """What a program complained about, to follow a sentence; nothing where it did not."""
    text = tail(errors, STDERR_TAIL).strip()
    return f"; its error output:\n{text}" if text else ""


def say_code(code: int) -> str:
    """What an exit code means."""
    if code > 0:
        return f"the program ended with exit code {code}"
    try:
        return f"the program was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"the program was killed by signal {-code}"
