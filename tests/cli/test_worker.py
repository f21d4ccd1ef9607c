"""`genbayes worker`: any program, from the shell."""

import pytest

WHERE = ("sqlite:///rocket.db", "rocket")


@pytest.fixture
def begun(ask):
    ask(
        "design", "create", *WHERE, "--input", "mach=0.2:6", "--input", "gas=He,O2", "--n-initial", "3", "--budget", "4"
    )
    return ask


def test_a_worker_runs_a_program_for_every_trial_and_says_so(begun) -> None:
    answer = begun("worker", *WHERE, "--", "echo", "{mach}")
    assert answer.code == 0
    first, *others = answer.err.splitlines()
    assert first == "budget: 4 of 4 runs left"
    assert [line.split(":")[0] for line in others] == [f"trial {n}" for n in (1, 2, 3, 4)]
    assert "done 4" in answer.lines
    assert begun("design", "status", *WHERE, "--json").json["n_done"] == 4


def test_json_is_one_object_with_the_tally(begun) -> None:
    answer = begun("worker", *WHERE, "--json", "--quiet", "--", "echo", "{mach}")
    assert answer.err == ""
    assert answer.json == {"n_done": 4, "n_failed": 0, "n_repeats": 0, "n_handed_back": 0}


def test_a_quiet_worker_does_not_ask_where_the_campaign_stands(begun, monkeypatch) -> None:
    def status(campaign) -> None:
        raise AssertionError("nobody wants to know")

    monkeypatch.setattr("genbayes.campaign.Campaign.status", status)
    assert begun("worker", *WHERE, "--json", "--quiet", "--no-wait", "--", "echo", "1").json["n_done"] == 4


def test_a_worker_that_is_not_the_first_says_how_many_runs_are_left(begun) -> None:
    begun("worker", *WHERE, "--budget", "1", "--quiet", "--", "echo", "1")
    begun("design", "ask", *WHERE, "--lease-seconds", "0.2")
    answer = begun("worker", *WHERE, "--seconds", "30", "--", "echo", "1")
    assert answer.err.splitlines()[0] == "budget: 3 of 4 runs left, 1 of them handed out; no new run starts after 30 s"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "no budget: runs until stopped (Ctrl-C); --budget N or --seconds S sets a limit"),
        (["--seconds", "0"], "no budget: no new run starts after 0 s"),
    ],
)
def test_a_worker_without_a_budget_says_when_it_will_end(ask, words: list[str], sentence: str) -> None:
    ask("design", "create", *WHERE, "--input", "mach=0.2:6", "--n-initial", "3", "--proposer", "random")
    answer = ask("worker", *WHERE, *words, "--failures-in-row", "1", "--", "false")  # ends at the first run
    assert answer.err.splitlines()[0] == sentence


def test_options_of_the_program_are_its_own(begun) -> None:
    answer = begun("worker", *WHERE, "--json", "-q", "--", "sh", "-c", "echo --debug >&2; echo 1", "--help", "--json")
    assert answer.json["n_done"] == 4


def test_a_budget_and_a_time_end_it(begun) -> None:
    assert begun("worker", *WHERE, "--budget", "2", "--json", "-q", "--", "echo", "1").json["n_done"] == 2
    assert begun("worker", *WHERE, "--seconds", "0", "--json", "-q", "--", "echo", "1").json["n_done"] == 0


def test_the_response_is_read_from_a_json_line_or_a_file(begun, tmp_path) -> None:
    words = ("worker", *WHERE, "--json", "-q", "--no-wait")
    script = 'echo "{\\"drag\\": 3}"'
    assert begun(*words, "--budget", "2", "--key", "drag", "--", "sh", "-c", script).json["n_done"] == 2
    script = "echo 4 > out_$1"
    more = ("--file", "out_{number}", "--", "sh", "-c", script, "sh", "{number}")
    assert begun(*words, *more).json["n_done"] == 2
    exported = begun("design", "export", *WHERE, "--json").json["columns"]["y"]
    assert exported == [3.0, 3.0, 4.0, 4.0]


def test_failures_are_recorded_and_too_many_end_it(begun) -> None:
    answer = begun("worker", *WHERE, "--timeout", "0.3", "--failures-in-row", "2", "--", "sleep", "30")
    assert answer.code == 2
    assert "Error: The simulator failed 2 times in a row" in answer.err
    found = begun("design", "status", *WHERE, "--json").json
    assert found["failures"][0] == [1, "no result within 0.3 s; the program was stopped"]
    assert (found["n_failed"], found["n_running"]) == (2, 0)


def test_a_failed_run_is_tried_again(begun, tmp_path) -> None:
    script = "echo x >> tries; test $(wc -l < tries) -gt 1 && echo 1"
    answer = begun("worker", *WHERE, "--retries", "1", "--budget", "1", "--json", "-q", "--", "sh", "-c", script)
    assert (answer.json["n_done"], answer.json["n_failed"]) == (1, 0)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "command must name a program, got nothing after --"),
        (
            ["--", "echo", "{mahc}"],
            "command must use inputs of the campaign, got {mahc}; did you mean 'mach'; or write",
        ),
        (["--", "no-such-program"], "command must name a program that can be run, got 'no-such-program'"),
        (["--timeout", "soon", "--", "echo"], "invalid value for '--timeout'"),
    ],
)
def test_bad_input_is_one_sentence_and_no_trial_is_asked_for(begun, words: list[str], sentence: str) -> None:
    answer = begun("worker", *WHERE, *words)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert answer.err.startswith(f"Error: {sentence}")
    assert begun("design", "status", *WHERE, "--json").json["n_out"] == 0
