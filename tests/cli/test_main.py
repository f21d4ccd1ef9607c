import subprocess
import sys
import time

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


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_help_lists_the_commands(ask, words) -> None:
    answer = ask(*words)
    assert answer.code == 0
    assert all(command in answer.out for command in ("demo", "fit", "predict", "evaluate"))


@pytest.mark.parametrize("command", ["demo", "fit", "predict", "evaluate"])
def test_each_command_has_help_and_json(ask, command) -> None:
    answer = ask(command, "--help")
    assert answer.code == 0
    assert "--json" in answer.out


@pytest.mark.parametrize("failing", [InvalidInput("y must\n  vary")], indirect=True)
def test_bad_input_is_one_sentence_without_traceback(ask, failing) -> None:
    answer = ask("fail")
    assert (answer.code, answer.err) == (2, "Error: y must vary\n")


@pytest.mark.parametrize("failing", [InvalidInput("y must vary")], indirect=True)
@pytest.mark.parametrize("words", [["--debug", "fail"], ["fail", "--debug"]])
def test_debug_shows_the_traceback_too(ask, failing, words) -> None:
    answer = ask(*words)
    assert answer.code == 2
    assert "Traceback" in answer.err
    assert answer.err.endswith("Error: y must vary\n")


@pytest.mark.parametrize("failing", [InvalidInput("y must vary")], indirect=True)
@pytest.mark.parametrize(("value", "shown"), [("1", True), ("0", False), ("", False)])
def test_an_environment_variable_asks_for_tracebacks(ask, failing, monkeypatch, value, shown) -> None:
    monkeypatch.setenv("GENBAYES_DEBUG", value)
    assert ("Traceback" in ask("fail").err) == shown


@pytest.mark.parametrize("failing", [KeyError("x")], indirect=True)
def test_a_fault_of_ours_is_not_called_bad_input(ask, failing) -> None:
    answer = ask("fail")
    assert answer.code == 1
    assert answer.err == "Error: genbayes failed (KeyError: 'x'); please report it with what --debug shows\n"


@pytest.mark.parametrize("failing", [KeyboardInterrupt()], indirect=True)
def test_control_c_is_one_sentence_and_code_130(ask, failing) -> None:
    answer = ask("fail")
    assert (answer.code, answer.err) == (130, "Error: stopped by Ctrl-C; no file was left half-written\n")


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
        "import sys; from genbayes.cli.main import answer; answer(['--help']);"
        "heavy = {'torch', 'pandas', 'sklearn', 'scipy', 'matplotlib', 'numpy'} & set(sys.modules);"
        "sys.exit(' '.join(sorted(heavy)) or 0)"
    )
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert time.perf_counter() - started < 5  # 0.3 s on an idle machine
