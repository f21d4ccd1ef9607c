"""A program as a simulator: how the inputs of a trial reach it, and how its responses are read.

Inputs go in as words of its command line, as environment variables (GENBAYES_MACH) and as a JSON object on its standard
input; the number of the trial is in GENBAYES_TRIAL; the responses are the last line of its output or of a file.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import IO

from genbayes.campaign.process import complaint, run_program, say_code, tail
from genbayes.campaign.responses import DEFAULT_NAMES, LONGEST_LINE, check_responses, last_line, parse_line, shorten
from genbayes.campaign.running import SimulationFailed, StopSignal
from genbayes.campaign.trial import Trial
from genbayes.data import Box
from genbayes.data.box import Value
from genbayes.errors import InvalidInput
from genbayes.validation import suggest

# {{word}} for the braces themselves, or {name} that is not a shell's ${name}
PLACEHOLDER = re.compile(r"\{\{(?P<kept>\w+)\}\}|(?<!\$)\{(?P<name>[^{}]+)\}")
WORD = re.compile(r"\w+")
NUMBER = "number"  # the placeholder of the trial's number
PLAIN = re.compile(r"[\w./=:,@%+-]*")  # the text of options, paths and names, which no shell takes for code
# Letters of the options after which interpreters, and programs that start a shell, expect code
INTERPRETERS = {
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh", "ash", "busybox", "csh", "tcsh"), "c"),
    **dict.fromkeys(("su", "runuser", "flock", "script", "python", "pypy"), "c"),
    **dict.fromkeys(("perl", "ruby", "lua", "julia", "R", "Rscript", "octave", "gnuplot"), "eE"),
    **{"fish": "cC", "node": "ep", "php": "rBRE", "matlab": "r", "sbatch": ""},
}
CLUSTER = re.compile(r"-([A-Za-z0-9]+)")  # letters of one option, as in -lc or -0777ne
LONG_CODE_OPTIONS = {"command", "init-command", "wrap", "eval", "expression", "execute", "print", "batch"}
JOINERS = {"ssh", "rsh", "pdsh", "clush", "bsub", "make", "gmake"}  # what they are given ends in the code of a shell
SCRIPT = re.compile(r".+\.(sh|bash|py|pl|rb|js|mjs|R|r|jl|lua|m|php)")  # options after it are its own


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
        _check_code(self.words, self.space)
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
            words, environment = [fill(word, values) for word in self.words], {**os.environ, **self._environment(trial)}
            code = run_program(words, environment, given, output, errors, self.timeout, self.stop)
            if code != 0:
                raise SimulationFailed(say_code(code) + complaint(errors))
            if file is None:
                return read_responses(output, self.responses, f"program must print {self._wanted} as its last line")
        if _stamp(file) == before:
            raise SimulationFailed(f"program must write {self._wanted} to {str(file)!r}, got no new file there")
        with open(file, "rb") as written:
            return read_responses(written, self.responses, f"{str(file)!r} must end with {self._wanted}")

    def _environment(self, trial: Trial) -> dict[str, str]:
        """The inputs as GENBAYES_MACH and the like, where one input has the name; GENBAYES_TRIAL is the number."""
        names = [variable(name) for name in self.space.names]
        inputs = {variable(name): str(trial.x[name]) for name in self.space.names if names.count(variable(name)) == 1}
        return {**inputs, "GENBAYES_TRIAL": str(trial.number)}

    @property
    def _wanted(self) -> str:
        return shorten(self.responses) if len(self.responses) > 1 else "y"


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


def variable(name: str) -> str:
    """The environment variable of an input.

    Example:
        >>> variable("wall temp.")
        'GENBAYES_WALL_TEMP_'
    """
    return "GENBAYES_" + re.sub(r"[^A-Z0-9]", "_", name.upper())


def _check_code(words: Sequence[str], space: Box) -> None:
    """Refuse text where it may be run as code, as a value such as "O2; rm -r ." would be.

    Text may fill a word of its own, or stand in a plain one such as `--gas={gas}` or `out/{gas}.csv`.
    """
    for word, expects_code in zip(words, _expect_code(words), strict=True):
        is_plain = PLAIN.fullmatch(PLACEHOLDER.sub("", word)) is not None
        for found in PLACEHOLDER.finditer(word) if expects_code or not is_plain else ():
            name = found["name"]
            if name in space.text_choices:
                raise InvalidInput(
                    f"command must not put text into code that may be run, got {{{name}}} in {word!r:.60}; "
                    f'write "${variable(name)}" there, or pass {{{name}}} to a script as a word of its own'
                )


def _expect_code(words: Sequence[str]) -> Iterator[bool]:
    """Whether each word may be taken for code: an interpreter's option says so, until a word has been its code."""
    letters: str | None = None  # of code options; None before an interpreter and after the name of a script
    is_next = is_joined = False
    for word in words:
        name = PurePath(word).name.rstrip("0123456789.-")
        option, equals, _ = PLACEHOLDER.sub("=", word).partition("=")
        is_option = _is_code_option(option, letters)
        yield is_joined or is_next or is_option
        is_joined = is_joined or name in JOINERS
        if name in INTERPRETERS:
            letters = (letters or "") + INTERPRETERS[name]
        elif is_option:
            is_next = not equals
        elif is_next:
            is_next = word.startswith("-") or PLAIN.fullmatch(word) is not None  # as in bash -c -o pipefail CODE
        elif SCRIPT.fullmatch(word):
            letters = None


def _is_code_option(option: str, letters: str | None) -> bool:
    """Whether an option is `--eval` or the like, or a cluster such as `-lc` that has one of the letters."""
    if letters is None or not option.startswith("-"):
        return False
    cluster = CLUSTER.match(option)
    return option.lstrip("-") in LONG_CODE_OPTIONS or (cluster is not None and bool(set(letters) & set(cluster[1])))


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
    text = tail(stream, LONGEST_LINE).rstrip()
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


def _stamp(file: Path | None) -> tuple[int, int, int] | None:
    """What changes when a file is written: an old result must not be taken for a new one."""
    try:
        found = os.stat(file) if file is not None else None
    except FileNotFoundError:
        return None
    return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)
