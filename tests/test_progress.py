"""The line that says what is being done: shown on standard error where it is wanted, silent where it is not."""

import pytest

from genbayes.progress import show_count, show_stage


@pytest.mark.parametrize("what", ["the stationary GP, fold 1", "model [mine], fold 1"])
def test_a_visible_stage_is_shown_on_standard_error(capsys, monkeypatch, what: str) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with show_stage("choosing", visible=True) as announce:
        announce(what)
    shown = capsys.readouterr()
    assert f"choosing: {what}" in shown.err
    assert shown.out == ""


def test_a_hidden_stage_says_nothing(capsys) -> None:
    with show_stage("choosing", visible=False) as announce:
        announce("the stationary GP, fold 1")
    assert capsys.readouterr() == ("", "")


def test_a_count_is_shown_with_its_note_on_standard_error(capsys, monkeypatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with show_count("simulating", visible=True) as report:
        report(30, 120, "2 failed")
    shown = capsys.readouterr()
    assert "30/120" in shown.err
    assert "2 failed" in shown.err
    assert shown.out == ""
