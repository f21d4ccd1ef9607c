"""A worker process: ended by signals, killed outright, many at once."""

import os
import signal
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from unittest.mock import DEFAULT, Mock

import pytest

from genbayes import Box, Campaign
from genbayes.campaign.command import Command, fill, read_responses
from genbayes.campaign.responses import LONGEST_LINE
from genbayes.campaign.running import SimulationFailed
from genbayes.campaign.trial import Trial
from genbayes.campaign.worker import wait_for_campaign, work
from genbayes.cli.console import print_facts, print_news
from genbayes.data import Choice
from genbayes.errors import InvalidInput, SimulatorBroken, StoreRefused, StoreUnavailable

GENBAYES = [sys.executable, "-c", "from genbayes.cli.main import run; run()"]
SOON = 60.0  # seconds; a busy machine needs some of them


def start_worker(campaign: Campaign, *words: str) -> subprocess.Popen:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [*GENBAYES, "worker", campaign.url, campaign.name, *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def test_a_worker_runs_a_program_until_the_budget_is_spent_and_leaves_signals_as_they_were(make_campaign) -> None:
    campaign, heard, before = make_campaign(budget=6), [], signal.getsignal(signal.SIGTERM)
    fails_first = "test $1 = 1 || exec echo $2; echo no mesh >&2; exit 4"
    command = ["sh", "-c", fails_first, "simulate", "{number}", "{x}"]
    tally = work(campaign, command, listen=lambda trial, outcome, what: heard.append((trial.number, outcome)))
    assert (tally.n_done, tally.n_failed) == (5, 1)
    assert heard == [(1, "failed"), *((number, "counted") for number in range(2, 7))]
    frame = campaign.to_frame()[1:]
    assert (frame["y"] == frame["x"]).all()
    assert campaign.status().failures == ((1, "the program ended with exit code 4; its error output:\nno mesh"),)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_worker_waits_for_a_database_that_is_away_when_it_begins(make_campaign, monkeypatch) -> None:
    campaign, heard = make_campaign(n_initial=1, budget=1), []
    away = StoreUnavailable("database must be within reach, got a refused connection")
    status = Mock(wraps=campaign._store.status, side_effect=[away, *[DEFAULT] * 99])
    monkeypatch.setattr(campaign._store, "status", status)
    monkeypatch.setattr("genbayes.campaign.running.IDLE", 0.01)
    assert work(campaign, ["echo", "1"], announce=heard.append).n_done == 1
    assert [(each.n_open, each.budget) for each in heard] == [(1, 1)]


def test_a_signal_during_the_announcement_ends_the_worker_cleanly(make_campaign) -> None:
    campaign = make_campaign(n_initial=1, budget=1)
    tally = work(campaign, ["echo", "1"], announce=lambda status: signal.raise_signal(signal.SIGINT))
    assert (tally.n_done, campaign.status().n_out) == (0, 0)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_program_and_hands_the_trial_back(
    make_campaign, tmp_path: Path, how, wait_for, is_gone
) -> None:
    campaign, pid = make_campaign(n_initial=1, budget=1), tmp_path / "pid"
    process = start_worker(campaign, "--json", "--quiet", "--", "sh", "-c", f"echo $$ > {pid}; exec sleep 120")
    wait_for(lambda: pid.exists() and pid.read_text().strip())
    assert campaign.status().n_running == 1
    process.send_signal(how)
    out, err = process.communicate(timeout=SOON)
    assert (process.returncode, err) == (0, "")
    assert '"n_handed_back": 1' in out
    assert campaign.status().n_open == 1
    assert is_gone(int(pid.read_text()))


def test_a_worker_that_is_killed_outright_is_replaced_by_the_next(make_campaign, tmp_path: Path, wait_for) -> None:
    campaign = make_campaign(n_initial=1, budget=1)
    first = start_worker(campaign, "--lease-seconds", "1", "--", "sh", "-c", f"touch {tmp_path}/begun; sleep 3; echo 1")
    wait_for((tmp_path / "begun").exists)
    first.kill()
    first.communicate()
    assert work(campaign, ["echo", "2"]).n_done == 1
    assert campaign.to_frame()["y"].tolist() == [2.0]
    assert campaign.to_frame()["n_leases"].tolist() == [2]


SPACE = Box({"mach": (0.2, 6.0), "gas": Choice("He", "O2")})
TRIAL = Trial(17, {"mach": 0.1 + 0.2, "gas": "He"}, lease=1)


@pytest.fixture
def program(tmp_path: Path):
    """A shell script of the given lines, as a command."""

    def make(script: str, *arguments: str, **settings) -> Command:
        file = tmp_path / "simulate.sh"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return Command([str(file), *arguments], SPACE, **settings)

    return make


FROM_STDIN = "import json, os, sys; print(json.load(sys.stdin)['mach'] + int(os.environ['GENBAYES_TRIAL']))"


@pytest.mark.parametrize(
    ("script", "arguments", "settings", "y"),
    [
        ("echo $1", ["{mach}"], {}, 0.1 + 0.2),  # to the last digit
        ('test "$1" = "--gas=He:17" && echo 1', ["--gas={gas}:{number}"], {}, 1.0),
        (f'{sys.executable} -c "{FROM_STDIN}"', [], {}, pytest.approx(17.3)),
        ("""echo '{"drag": 3}'""", [], {"responses": ["drag"]}, 3.0),
        ("yes | head -c 3000000; yes error | head -c 300000 >&2; echo; echo 4", [], {}, 4.0),
        ("echo x >> $0.tries; test $(wc -l < $0.tries) -ge 3 && echo 5", [], {"retries": 2}, 5.0),
        ("echo noise; echo '{\"y\": 6}' > out_$1.json", ["{number}"], {"file": "out_{number}.json"}, 6.0),
    ],
)
def test_the_response_of_a_program_is_what_it_prints_last_or_writes(
    program, tmp_path: Path, monkeypatch, script: str, arguments, settings, y: float
) -> None:
    monkeypatch.chdir(tmp_path)
    assert program(script, *arguments, **settings)(TRIAL) == (y,)


@pytest.mark.parametrize(
    ("script", "settings", "error", "sentence"),
    [
        ("true", {}, SimulationFailed, "program must print y as its last line, got nothing"),
        ("echo 1; echo no mesh >&2; exit 3", {}, SimulationFailed, "exit code 3; its error output:\nno mesh"),
        ("kill -9 $$", {}, SimulationFailed, "the program was killed by SIGKILL"),
        ("exit 1", {"retries": 2}, SimulationFailed, r"exit code 1 \(3 tries\)"),
        ("true", {"file": __file__}, SimulationFailed, "must write y to .*worker.py', got no new file"),  # an old one
        ("trap '' TERM; while true; do sleep 0.1; done", {"timeout": 0.3}, SimulationFailed, "no result within"),
        (None, {}, SimulatorBroken, "command must name a program that can be run"),  # not the trial's fault
    ],
)
def test_a_program_that_fails_says_why(program, tmp_path, monkeypatch, script, settings: dict, error, sentence) -> None:
    monkeypatch.setattr("genbayes.campaign.process.GRACE", 0.3)
    command = program(script, **settings)
    if script is None:
        (tmp_path / "simulate.sh").unlink()
    with pytest.raises(error, match=sentence):
        command(TRIAL)


@pytest.mark.parametrize(
    ("word", "filled"),
    [
        *[(word, word) for word in ('{"mach": 3}', "{print $1}", "${mach}", "{}", "a{b c}d")],  # of other languages
        ("{{mach}} {mach}", "{mach} 1"),  # doubled braces are braces
        ("{{speed}}", "{speed}"),
        ("{gas}", "$(rm -rf) ; 'O2'"),  # one word, whatever it holds
    ],
)
def test_names_in_braces_are_filled_in_and_other_braces_stay(word: str, filled: str) -> None:
    Command(["echo", word], SPACE)
    assert fill(word, {"mach": 1, "gas": "$(rm -rf) ; 'O2'"}) == filled


@pytest.mark.parametrize(
    ("text", "y"),
    [
        *[
            ("0.013", 0.013),
            ("read\n-2e-3\n\n \n", -2e-3),
            ('{"drag": 1, "y": 2.5}', 2.5),
            ("a\n[3]", 3.0),
            ("1e5", 1e5),
        ],
        *[("+.5", 0.5), ("3.", 3.0), ("1.5E+02", 150.0), ("007", 7.0)],  # as C and Fortran print them
    ],
)
def test_the_response_is_the_last_line(text: str, y: float) -> None:
    assert read_responses(BytesIO(text.encode()), ["y"], "rule") == (y,)


@pytest.mark.parametrize(
    "text", ["[1, 2.5]", '{"s2": 2.5, "t": [], "s1": 1}', "1 2.5", "1, 2.5", "1,2.5", "\t1\t2.5\r\n"]
)
def test_several_responses_are_an_array_an_object_or_numbers_in_a_row(text: str) -> None:
    assert read_responses(BytesIO(text.encode()), ["s1", "s2"], "rule") == (1.0, 2.5)


@pytest.mark.parametrize("n_more", [-1, 1, 70_000])
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_a_line_too_long_to_be_seen_whole_is_no_response(n_more: int, end: str) -> None:
    """Its end alone could be taken for a number."""
    line = "0" * (LONGEST_LINE - len(end) + n_more - 1) + "7"
    if n_more < 0:
        assert read_responses(BytesIO(f"log\n{line}{end}".encode()), ["y"], "rule") == (7.0,)
    else:
        with pytest.raises(SimulationFailed, match="rule, got a line of more than 1,048,576 bytes"):
            read_responses(BytesIO(f"log\n{line}{end}".encode()), ["y"], "rule")


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("", SimulationFailed, "rule, got nothing"),
        ("\n \n", SimulationFailed, "rule, got nothing"),
        ("1 2 3", InvalidInput, "y must be one number, got 3 values"),
        ("1,2", InvalidInput, "y must be one number, got 2 values"),
        ("[]", InvalidInput, "y must be one number, got 0 values"),
        ("nan", InvalidInput, "y must be a finite number, got nan"),
        ("NaN", InvalidInput, "y must be a finite number, got nan"),
        ("diverged at step 3", InvalidInput, "y must be a finite number, got 'diverged at step 3'"),
        ('{"Y": 1}', SimulationFailed, "rule, got an object without 'y'"),
        ('{"y": null}', InvalidInput, "y must be a finite number, got None"),
        ('{"y": [1, 2]}', InvalidInput, "y must be one number, got 2 values"),
        ("true", InvalidInput, "y must be a finite number, got True"),
        ("1_000", InvalidInput, "y must be a finite number, got '1_000'"),
        ("7,", InvalidInput, "y must be a finite number, got '7,'"),
        ("1,,2", InvalidInput, "y must be a finite number, got '1,,2'"),
        ("0x1F", InvalidInput, "y must be a finite number, got '0x1F'"),
        ("1e999", InvalidInput, "y must be a finite number, got inf"),
        ("1" * 400, InvalidInput, "y must be a finite number, got 1111"),
        ("1" * 5000, InvalidInput, "y must be a finite number, got inf"),
        ("[" * 9999, InvalidInput, r"y must be a finite number, got '\[\["),
    ],
)
def test_a_last_line_that_is_no_response_is_told(text: str, error: type, sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        read_responses(BytesIO(text.encode()), ["y"], "rule")


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c", "sim {gas}"],
        ["/bin/bash", "-lc", "{gas}"],
        ["env", "A=1", "nice", "bash", "-ec", "sim --gas={gas}"],
        ["python3.11", "-c", "print('{gas}')"],
        ["perl", "-e", "print '{gas}'"],
        ["ssh", "node7", "./sim", "{gas}"],  # which gives its words to a shell
        ["make", "run", "GAS={gas}"],
        *(["sh", *cluster, "echo {gas}; echo 1"] for cluster in (["-cu"], ["-c", "--"], ["-c", "-x"], ["-cx"])),
        ["bash", "-c", "-o", "pipefail", "{gas}"],
        ["awk", 'BEGIN { system("echo {gas}"); print 1 }'],
        ["flock", "f", "-c", "./sim_{gas}"],
        ["Rscript", "--vanilla", "-e", "{gas}"],
        ["julia", "-e", 'sim("{gas}")'],
        ["perl", "-e{gas}"],
        ["perl", "-e./sim_{gas}"],
        ["perl", "-0777ne", "{gas}"],
        ["perl", "-ne", "print 1", "-e", "{gas}"],
        ["node", "--eval={gas}"],
        ["sbatch", "--wrap", "{gas}"],
        ["sbatch", "--wrap=sim_{gas}"],
        ["./unknown", "--run", "sim {gas}"],
    ],
)
def test_text_is_not_put_into_code_and_the_variable_to_use_is_named(words: list[str], monkeypatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: name)
    with pytest.raises(InvalidInput, match=r'must not put text into code .* got {gas} in .*; write "\$GENBAYES_GAS"'):
        Command(words, SPACE)


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c", "sim {mach} {number}"],
        ["sh", "sim.sh", "{gas}"],
        ["bash", "-eu", "sim.sh", "-c", "{gas}"],  # whose options are its own
        ["sh", "-c", 'sim "$1"', "sim", "{gas}"],
        ["./sim", "-c", "{gas}", "--gas={gas}", "gas={gas}", "out/{gas}-{number}.csv", "He,{gas}"],
        ["sbatch", "--wrap", "./sim {mach}", "--comment={gas}"],
    ],
)
def test_numbers_may_stand_in_code_and_text_may_be_an_argument(words: list[str], monkeypatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: name)
    Command(words, SPACE)


def test_categories_that_are_numbers_may_stand_in_code() -> None:
    Command(["sh", "-c", "sim {stages}"], Box({"stages": Choice(1, 2, 4)}))


def test_inputs_are_environment_variables_where_their_names_allow(program) -> None:
    space = Box(
        {"gas": Choice("a b; $(exit 1)", "O2"), "wall temp.": (0, 9), "trial": (0, 9), "Q": (0, 9), "q": (0, 9)}
    )
    trial = Trial(3, {"gas": "a b; $(exit 1)", "wall temp.": 1.5, "trial": 7, "Q": 1, "q": 2}, lease=1)
    script = """
        test "$GENBAYES_GAS" = 'a b; $(exit 1)' || exit 1
        test "$GENBAYES_TRIAL" = 3 || exit 2
        test -z "$GENBAYES_Q" || exit 3
        sh -c 'test "$GENBAYES_GAS" = "a b; \\$(exit 1)"' || exit 4
        echo $GENBAYES_WALL_TEMP_
    """
    command = program(script)
    command.space = space
    assert command(trial) == (1.5,)


def test_a_worker_waits_for_a_database_that_is_not_up_yet(make_campaign, monkeypatch) -> None:
    campaign, told = make_campaign(), []
    away = StoreUnavailable("No answer from the database")
    monkeypatch.setattr(Campaign, "open", Mock(side_effect=[away, away, campaign]))
    monkeypatch.setattr("genbayes.campaign.worker.IDLE", 0.01)
    assert wait_for_campaign("sqlite:///a.db", "a", announce=told.append) is campaign
    assert told == ["No answer from the database"]  # once


@pytest.mark.parametrize(
    ("error", "seconds"), [(StoreRefused("no such database"), None), (StoreUnavailable("gone"), 0.0)]
)
def test_what_waiting_cannot_mend_ends_a_worker_at_once_as_does_its_time(monkeypatch, error, seconds) -> None:
    monkeypatch.setattr(Campaign, "open", Mock(side_effect=error))
    with pytest.raises(type(error), match=str(error)):
        wait_for_campaign("sqlite:///a.db", "a", seconds=seconds)


def test_a_signal_ends_a_worker_that_waits(monkeypatch) -> None:
    monkeypatch.setattr(Campaign, "open", Mock(side_effect=StoreUnavailable("gone")))
    assert wait_for_campaign("sqlite:///a.db", "a", announce=lambda why: signal.raise_signal(signal.SIGTERM)) is None


def test_a_worker_is_started_before_its_postgresql_server(server, postgres_url: str, make_campaign) -> None:
    campaign = make_campaign(url=postgres_url, n_initial=1, budget=1)
    server.stop("fast")
    try:
        process = start_worker(campaign, "--", "echo", "7")
        assert "waiting: No answer from the database" in process.stderr.readline()
    finally:
        server.start()
    _, err = process.communicate(timeout=SOON)
    assert (process.returncode, "trial 1: y = 7.0" in err) == (0, True)


@pytest.mark.parametrize(
    ("change", "reason"),
    [(("/test_", "/nope_"), "database .* does not exist"), (("genbayes@", "who@"), "role .* does not")],
)
def test_a_wrong_name_or_user_ends_a_worker_at_once(postgres_url: str, change, reason: str) -> None:
    with pytest.raises(StoreRefused, match=f"refuses .*{reason}.*; check its name, the user, the password"):
        wait_for_campaign(postgres_url.replace(*change), "a")


def test_escape_sequences_of_a_program_reach_no_terminal(make_campaign, capsys) -> None:
    campaign = make_campaign(n_initial=1, budget=1)
    hostile = r"printf '\033]0;owned\007\033[2J\302\233' >&2; exit 1"
    work(campaign, ["sh", "-c", hostile], listen=lambda trial, outcome, what: print_news(what))
    print_facts("title", {str(number): reason for number, reason in campaign.status().failures})
    out, err = capsys.readouterr()
    for text in (out, err, campaign.to_frame()["reason"].iloc[0]):
        assert r"\x1b]0;owned\x07\x1b[2J\x9b" in text.replace("\n", "").replace(" ", "")
        assert not any((ord(letter) < 32 and letter not in "\n\t") or 127 <= ord(letter) < 160 for letter in text)
