"""The line that says what is being done: shown on standard error where it is wanted, silent where it is not."""

from genbayes.progress import show_stage


def test_a_visible_stage_is_told_on_standard_error(capsys, monkeypatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with show_stage("choosing", visible=True) as announce:
        announce("the stationary GP, fold 1")
    told = capsys.readouterr()
    assert "choosing: the stationary GP, fold 1" in told.err
    assert told.out == ""


def test_a_hidden_stage_says_nothing(capsys) -> None:
    with show_stage("choosing", visible=False) as announce:
        announce("the stationary GP, fold 1")
    assert capsys.readouterr() == ("", "")


def test_brackets_in_what_is_told_are_told(capsys, monkeypatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with show_stage("choosing", visible=True) as announce:
        announce("model [mine], fold 1")
    assert "model [mine], fold 1" in capsys.readouterr().err
