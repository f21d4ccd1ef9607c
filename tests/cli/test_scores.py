import numpy as np

from genbayes.cli.console import draw_bars, print_scores
from genbayes.diagnostics import assess
from genbayes.distribution import Normal


class Standard:
    def predict_distribution(self, X):
        return Normal(loc=np.zeros(len(X)), scale=np.ones(len(X)))


def test_scores_are_shown_with_their_meaning(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    y = np.linspace(-1, 1, 50)
    found = assess(Standard(), np.zeros((50, 1)), y)
    print_scores(found, "A title")
    shown = capsys.readouterr().out
    assert "A title" in shown
    assert f"{found.crps:.4g} ± {found.crps_se:.2g}" in shown
    assert "hold 100%" in shown


def test_bars_of_nothing_are_flat() -> None:
    assert draw_bars([0, 0]) == "▁▁"
