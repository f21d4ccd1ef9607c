"""A worker: runs any program for trial after trial, until the budget is spent or somebody ends it.

Inputs go in as words of the program's command line, and as a JSON object on its standard input; the number of the trial
is in the environment variable GENBAYES_TRIAL; the responses are the last line of its output.
SIGTERM and Ctrl-C end it cleanly: the program is ended, the trial is handed back, and another worker can have it at
once. The program has a process group of its own, so that it is ended with all its children. A worker that is killed
outright lets its lease lapse; no more than that run is lost.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING

from genbayes.campaign.responses import DEFAULT_NAMES, LONGEST_LINE, check_responses, last_line, parse_line, shorten
from genbayes.campaign.running import SimulationFailed, Stopped, StopSignal, Tally, run_trials
from genbayes.campaign.trial import Outcome, Status, Trial
from genbayes.data import Box
from genbayes.data.box import Value
from genbayes.errors import InvalidInput, SimulatorBroken
from genbayes.validation import suggest

if TYPE_CHECKING:
    from genbayes.campaign.campaign import Campaign

# {{word}} for the braces themselves, or {name} that is not a shell's ${name}
PLACEHOLDER = re.compile(r"\{\{(?P<kept>\w+)\}\}|(?<!\$)\{(?P<name>[^{}]+)\}")
WORD = re.compile(r"\w+")
NUMBER = "number"  # the placeholder of the trial's number
GRACE = 5.0  # seconds between asking a program to end and making it
POLL = 0.1  # seconds between two looks at the stop signal
STDERR_TAIL = 2_000  # bytes of what a failed program complained about
SIGNALS = (signal.SIGTERM, signal.SIGINT)


def work(
    campaign: Campaign,
    words: Sequence[str],
    *,
    timeout: float | None = None,
    retries: int = 0,
    key: str | None = None,
    file: str | None = None,
    budget: int | None = None,
    seconds: float | None = None,
    lease_seconds: float | None = None,
    worker: str | None = None,
    waits: bool = True,
    n_failures_in_row: int = 20,
    listen: Callable[[Trial, Outcome, str], None] = lambda trial, outcome, what: None,
    announce: Callable[[Status], None] | None = None,
) -> Tally:
    """Run a program for one trial after another.

    Args:
        campaign: Where trials come from and results go.
        words: The program and its arguments, with `{name}` for an input.
        timeout: Seconds that one run may take.
        retries: How often a run that failed is tried again.
        key: The name of the response where the last line is a JSON object; None for the campaign's names.
        file: A file to read the response from instead of the output.
        budget: Trials in all; None for the campaign's.
        seconds: Time after which no further run is begun.
        lease_seconds: How long a lease lasts before it must be renewed, which the worker does.
        worker: What the worker is called.
        waits: Whether to stay while other workers have trials out, which may come back.
        n_failures_in_row: Failures one after another that end it.
        listen: Hears of every run that ended.
        announce: Hears, before the first run, where the campaign stands; None if nobody wants to know.

    Returns:
        How many runs ended how.
    """
    stop = StopSignal()
    names = _check_key(key, campaign.settings.responses)
    command = Command(words, campaign.space, timeout, retries, names, file, stop)
    with _until_signalled(stop):
        return run_trials(
            campaign,
            command,
            budget=budget,
            seconds=seconds,
            n_failures_in_row=n_failures_in_row,
            worker=worker,
            lease_seconds=lease_seconds,
            stop=stop,
            waits=waits,
            wants_trial=True,
            listen=listen,
            announce=announce,
        )


@contextmanager
def _until_signalled(stop: StopSignal) -> Iterator[None]:
    """Let signals set the flag within the block; only the main thread may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def notice(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, notice) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass
class Command:
    """A program that is run for each trial.

    Args:
        words: The program and its arguments; `{name}` stands for an input, `{number}` for the number of the trial.
        space: The inputs there are.
        timeout: Seconds that one run may take; None for no limit.
        retries: How often a run that failed is tried again.
        responses: The names of the responses where the last line is a JSON object, else their order.
        file: A file to read the responses from instead of the output; it may hold placeholders.
        stop: Set from elsewhere to end it.
    """

    words: Sequence[str]
    space: Box
    timeout: float | None = None
    retries: int = 0
    responses: Sequence[str] = DEFAULT_NAMES
    file: str | None = None
    stop: StopSignal = field(default_factory=StopSignal)

    def __post_init__(self) -> None:
        if not self.words:
            raise InvalidInput("command must name a program, got nothing after --; try -- ./simulate.sh {mach}")
        for word in [*self.words, self.file or ""]:
            _check_placeholders(word, [*self.space.names, NUMBER])
        if shutil.which(self.words[0]) is None and not PLACEHOLDER.search(self.words[0]):
            raise InvalidInput(f"command must name a program that can be run, got {self.words[0]!r}; check its path")

    def __call__(self, trial: Trial) -> tuple[float, ...]:
        """The responses of one trial.

        Raises:
            SimulationFailed: Every try failed; the text says why the last one did.
            Stopped: The stop signal came while it ran.
        """
        for tries_left in reversed(range(self.retries + 1)):
            try:
                return self._run(trial)
            except (SimulationFailed, InvalidInput) as error:
                if not tries_left:
                    times = f" ({self.retries + 1} tries)" if self.retries else ""
                    raise SimulationFailed(f"{error}{times}") from error
        raise AssertionError("a run either ends or raises")

    def _run(self, trial: Trial) -> tuple[float, ...]:
        values = {**trial.x, NUMBER: trial.number}
        file = None if self.file is None else Path(fill(self.file, values))
        before = _stamp(file)
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            given.write(json.dumps(dict(trial.x)).encode() + b"\n")
            given.seek(0)
            code = self._wait([fill(word, values) for word in self.words], trial, given, output, errors)
            if code != 0:
                raise SimulationFailed(_say_code(code) + _complaint(errors))
            if file is None:
                return read_responses(output, self.responses, f"program must print {self._wanted} as its last line")
        if _stamp(file) == before:
            raise SimulationFailed(f"program must write {self._wanted} to {str(file)!r}, got no new file there")
        with open(file, "rb") as written:
            return read_responses(written, self.responses, f"{str(file)!r} must end with {self._wanted}")

    @property
    def _wanted(self) -> str:
        return shorten(self.responses) if len(self.responses) > 1 else "y"

    def _wait(self, words: list[str], trial: Trial, given: IO[bytes], output: IO[bytes], errors: IO[bytes]) -> int:
        """Exit code of the program, ended when its time is up or the stop signal comes."""
        environment = {**os.environ, "GENBAYES_TRIAL": str(trial.number)}
        try:
            process = subprocess.Popen(
                words, stdin=given, stdout=output, stderr=errors, env=environment, start_new_session=True
            )
        except OSError as error:
            raise SimulatorBroken(f"command must name a program that can be run, got {words[0]!r}; {error}") from error
        started = time.monotonic()
        try:
            while True:
                try:
                    return process.wait(POLL)
                except subprocess.TimeoutExpired:
                    if self.stop.is_set():
                        raise Stopped from None
                    if self.timeout is not None and time.monotonic() - started > self.timeout:
                        raise SimulationFailed(
                            f"no result within {self.timeout:g} s; the program was stopped" + _complaint(errors)
                        ) from None
        finally:
            _end(process)


def fill(word: str, values: Mapping[str, Value]) -> str:
    """A word of a command line with the inputs in their places, numbers to the last digit; other braces stay.

    Example:
        >>> fill("--mach={mach}", {"mach": 0.1}), fill("awk '{print $1}' {{mach}}", {"mach": 0.1})
        ('--mach=0.1', "awk '{print $1}' {mach}")
    """

    def replace(found: re.Match[str]) -> str:
        if found["kept"] is not None:
            return f"{{{found['kept']}}}"
        return str(values[found["name"]]) if found["name"] in values else found[0]

    return PLACEHOLDER.sub(replace, word)


def _check_placeholders(word: str, known: Sequence[str]) -> None:
    """Refuse `{word}` that is no input: most likely a slip; what has blanks or quotes in it belongs to a language."""
    for found in PLACEHOLDER.finditer(word):
        name = found["name"]
        if name is not None and name not in known and WORD.fullmatch(name):
            hint = suggest(name, known).rstrip("?") or f"; the inputs are {', '.join(known[:-1])}"
            raise InvalidInput(
                f"command must use inputs of the campaign, got {{{name}}}{hint}; or write {{{{{name}}}}} to keep braces"
            )


def read_responses(stream: IO[bytes], names: Sequence[str], rule: str) -> tuple[float, ...]:
    r"""The responses in the last line: a JSON number, array or object, or numbers between blanks or single commas.

    Args:
        stream: What a program printed.
        names: The responses.
        rule: What was expected, for messages.

    Returns:
        The responses, in the order of their names.

    Example:
        >>> from io import BytesIO
        >>> read_responses(BytesIO(b"reading mesh\n0.013\n"), ["y"], "")
        (0.013,)
        >>> read_responses(BytesIO(b'{"lift": 2, "drag": 0.5, "steps": 7}'), ["drag", "lift"], "")
        (0.5, 2.0)
    """
    text = _tail(stream, LONGEST_LINE).rstrip()
    last = last_line(text)
    if last is None:
        raise SimulationFailed(f"{rule}, got nothing")
    if "\n" not in text and stream.tell() > LONGEST_LINE:  # its beginning is not in sight
        raise SimulationFailed(f"{rule}, got a line of more than {LONGEST_LINE:,} bytes")
    found = parse_line(last)
    keys = found if isinstance(found, dict) else names
    missing = next((name for name in names if name not in keys), None)
    if missing is not None:
        raise SimulationFailed(f"{rule}, got an object without {missing!r}{suggest(missing, keys)}")
    return check_responses(found, names)


def _check_key(key: str | None, names: Sequence[str]) -> Sequence[str]:
    """The names to look for in a JSON line."""
    if key is None:
        return names
    if len(names) > 1:
        raise InvalidInput(
            f"key must not be given for several responses, whose names are the keys ({', '.join(names)}), got {key!r}"
        )
    return [key]


def _tail(stream: IO[bytes], n_bytes: int) -> str:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - n_bytes))
    return stream.read().decode(errors="replace")


def _complaint(errors: IO[bytes]) -> str:
    text = _tail(errors, STDERR_TAIL).strip()
    return f"; its error output:\n{text}" if text else ""


def _say_code(code: int) -> str:
    if code > 0:
        return f"the program ended with exit code {code}"
    try:
        return f"the program was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"the program was killed by signal {-code}"


def _stamp(file: Path | None) -> tuple[int, int, int] | None:
    """What changes when a file is written: an old result must not be taken for a new one."""
    try:
        found = os.stat(file) if file is not None else None
    except FileNotFoundError:
        return None
    return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program with all its children: ask first, then insist."""
    for how, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, None)):
        if process.poll() is not None and how == signal.SIGTERM:
            return
        try:
            os.killpg(process.pid, how)
        except (ProcessLookupError, PermissionError):
            return
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
        return
