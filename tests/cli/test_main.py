import subprocess
import sys

import pytest
import typer

import genbayes
from genbayes.cli import main
from genbayes.errors import GenBayesWarning, InvalidInput


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """A command `fail` that raises what the test names."""
    app = typer.Typer()
    app.callback()(lambda: None)

    @app.command()
    def fail() -> None:
        raise request.param

    monkeypatch.setattr(main, "app", app)


def test_the_version_is_printed(ask) -> None:
    assert ask("--version").out == f"genbayes {genbayes.__version__}\n"


COMMANDS = ("demo", "fit", "predict", "evaluate", "compare", "worker")


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_help_lists_the_commands(ask, words) -> None:
    answer = ask(*words)
    assert answer.code == 0
    assert all(command in answer.out for command in (*COMMANDS, "design", "bench"))


@pytest.mark.parametrize(
    "command", [*COMMANDS, *(f"design {name}" for name in ("create", "add", "ask", "tell", "fail", "status", "export"))]
)
def test_each_command_has_help_and_json(ask, command) -> None:
    answer = ask(*command.split(), "--help")
    assert answer.code == 0
    assert "--json" in answer.out


@pytest.mark.parametrize("command", ["fit", "compare", "demo"])
def test_what_is_chosen_automatically_can_be_given_a_time_limit_and_cores(ask, command) -> None:
    assert all(option in ask(command, "--help").out for option in ("--time-limit", "--jobs"))


@pytest.mark.parametrize(
    ("failing", "code", "sentence"),
    [
        (InvalidInput("y must\n  vary"), 2, "y must vary"),
        (KeyError("x"), 1, "genbayes failed (KeyError: 'x'); please report it with what --debug shows"),
        (KeyboardInterrupt(), 130, "stopped by Ctrl-C; no file was left half-written"),
    ],
    indirect=["failing"],
)
def test_what_goes_wrong_is_one_sentence_without_traceback(ask, failing, code, sentence) -> None:
    answer = ask("fail")
    assert (answer.code, answer.err) == (code, f"Error: {sentence}\n")


@pytest.mark.parametrize("failing", [InvalidInput("y must vary")], indirect=True)
@pytest.mark.parametrize(
    ("words", "value", "shown"),
    [
        (["--debug", "fail"], "", 1),
        (["fail", "--debug"], "", 1),
        (["fail"], "1", 1),
        (["fail"], "0", 0),
        (["fail"], "", 0),
    ],
)
def test_a_traceback_is_shown_on_request(ask, failing, monkeypatch, words, value, shown) -> None:
    monkeypatch.setenv("GENBAYES_DEBUG", value)
    answer = ask(*words)
    assert answer.code == 2
    assert answer.err.count("Traceback") == shown
    assert answer.err.endswith("Error: y must vary\n")


def test_a_word_after_two_dashes_is_not_ours() -> None:
    words, debug = main._take_debug(["worker", "--", "./simulate", "--debug"])
    assert words == ["worker", "--", "./simulate", "--debug"]
    assert not debug


def test_a_warning_is_one_line(ask, monkeypatch) -> None:
    import warnings

    app = typer.Typer()
    app.callback()(lambda: None)

    @app.command()
    def warn() -> None:
        warnings.simplefilter("always")
        warnings.warn("rows were\nmerged", GenBayesWarning, stacklevel=1)

    monkeypatch.setattr(main, "app", app)
    assert ask("warn").err == "Warning: rows were merged\n"


def test_help_is_quick_because_nothing_heavy_is_imported() -> None:
    code = (
        "import sys, time; from genbayes.cli.main import answer; answer(['--help']);"
        "heavy = {'torch', 'pandas', 'sklearn', 'scipy', 'matplotlib', 'numpy'} & set(sys.modules);"
        "sys.exit(' '.join(sorted(heavy)) or ('slow' if time.process_time() > 2 else 0))"  # 0.1 s on an idle machine
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
