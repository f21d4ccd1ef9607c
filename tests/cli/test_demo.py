import pytest


def test_demo_shows_a_fan_and_scores_and_writes_a_report(ask, bell, tmp_path) -> None:
    answer = ask("demo", "--report", "r.html")
    assert answer.code == 0
    assert answer.err == "Motorcycle crash tests: fitting 106 runs; 27 are held out for scoring.\n"
    assert "• runs   ━ median   ▒ 50%   ░ 90%" in answer.out
    assert "CRPS" in answer.out
    assert "Open r.html in a browser" in answer.out
    assert (tmp_path / "r.html").stat().st_size > 1000


def test_demo_fits_an_ensemble(ask, bell) -> None:
    ask("demo", "--epochs", "3")
    assert bell.made[0].settings == {"n_members": 5, "n_epochs": 3, "random_state": 0, "verbose": False}


def test_demo_in_json(ask, bell) -> None:
    found = ask("demo", "--json").json
    assert (found["rows"], found["report"], found["scores"]["n"]) == (133, "demo-report.html", 27)


@pytest.mark.parametrize(("report", "sentence"), [("no/r.html", "path must lie in"), (".", "path must name a file")])
def test_a_bad_report_path_is_said_before_the_fit(ask, bell, report, sentence) -> None:
    answer = ask("demo", "--report", report)
    assert (answer.code, bell.made) == (2, [])
    assert answer.err.startswith(f"Error: {sentence}")


def test_control_c_is_one_sentence(ask, bell, monkeypatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bell, "fit", interrupt)
    answer = ask("demo")
    assert answer.code == 130
    assert answer.err.endswith("\nError: stopped by Ctrl-C; no report was written\n")
