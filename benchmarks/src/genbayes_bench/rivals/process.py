"""A rival's own program, run to its end: started without a shell, ended with all its workers when time is up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

NO_MESSAGE = "no message"
SAYS_NOTHING = ("", "Execution halted")  # R's last words after an error


@dataclass(frozen=True)
class Spoken:
    """What a program said before it ended.

    Attributes:
        code: Its exit code; negative where a signal ended it.
        output: What it printed.
        messages: Its warnings and errors.
    """

    code: int
    output: str
    messages: str

    def last_message(self) -> str:
        r"""The last line of the messages that says something.

        Example:
            >>> Spoken(1, "", "Error: no such file\nExecution halted\n").last_message()
            'Error: no such file'
        """
        lines = [line.strip() for line in self.messages.splitlines()]
        telling = [line for line in lines if line not in SAYS_NOTHING]
        return telling[-1] if telling else NO_MESSAGE


def run_program(command: Sequence[str], folder: Path, timeout: float, environment: Mapping[str, str]) -> Spoken:
    """Run a program with `folder` as its working directory.

    It reads nothing from the terminal. `subprocess.TimeoutExpired` after `timeout` seconds and `OSError` where it
    cannot be started; neither leaves anything running.

    Args:
        command: Program and arguments, word by word.
        folder: Its working directory.
        timeout: Seconds after which it is ended.
        environment: Variables beside those of this process.

    Returns:
        Exit code, output and messages.
    """
    process = subprocess.Popen(
        list(command), cwd=folder, env={**os.environ, **environment}, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        try:
            output, messages = process.communicate(timeout=timeout)
        except BaseException:  # an interrupt of the user must not leave it running, either
            _end(process)
            raise
    return Spoken(process.returncode, *(text.decode("utf-8", errors="replace") for text in (output, messages)))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program and the workers it may have started, which share its session."""
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
