"""The fit behind `fit`, `compare` and `demo`: which model, with which settings, and for a page a second one.

Without `--model` it is the automatic choice. A page is scored on rows that a first fit does not see, nor copies
of them; the model file always holds a fit to all rows, so that asking for a page changes no prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from genbayes.cli.console import print_news, shows_progress
from genbayes.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from genbayes.arrays import FloatArray
    from genbayes.auto import SelectionReport

HELD_OUT = 0.2  # share of the rows that a page is scored on
FEW = 100  # held-out rows below which coverage is known to a few percent only
AUTOMATIC = "auto"
# Arguments of models, and what has to be fitted for them to mean something.
PARTNERS = {
    "n_members": "--model network",
    "recipe": "--model network",
    "weights": "--model network",
    "n_epochs": "--model network",
    "time_limit": "the automatic choice",
    "n_jobs": "the automatic choice",
    "y_bounds": "the automatic choice or --model network",
    "categorical": "a model of categories",
}


def model_maker(name: str | None, settings: Mapping[str, object], seed: int, *, quiet: bool) -> Callable[[], Any]:
    """What makes the unfitted model of a name, or one sentence on what does not go together.

    Args:
        name: A registered model; None for the automatic choice.
        settings: Constructor arguments; those that are None were not given.
        seed: Seed of all random choices.
        quiet: Whether a progress bar is unwelcome.
    """
    from genbayes.models.registry import Facts, find_model

    entry = find_model(AUTOMATIC if name is None else name, "--model")
    given = {argument: value for argument, value in settings.items() if value is not None}

    def make() -> Any:
        model: Any = entry.make(Facts(n=0, n_regimes=1), seed)
        takes = model.get_params(deep=False)
        for argument in given:
            if argument not in takes:
                chosen = "the automatic choice" if entry.name == AUTOMATIC else f"--model {entry.name}"
                raise InvalidInput(f"{argument} must go with {PARTNERS[argument]}, got it with {chosen}")
        return model.set_params(**given, **({"verbose": shows_progress(quiet)} if "verbose" in takes else {}))

    make()  # so that what does not go together is said before any work
    return make


@dataclass(frozen=True)
class HeldOut:
    """A model fitted to most rows, and the rows that it has not seen.

    Attributes:
        model: The model.
        X: Inputs that were held out, shape (h, d).
        y: Their responses, shape (h,).
        everywhere: Inputs of all rows, shape (n, d).
    """

    model: Any
    X: pd.DataFrame
    y: FloatArray
    everywhere: pd.DataFrame

    @property
    def scored_on(self) -> str:
        """Words that complete "Scored on ..."."""
        return f"{len(self.y):,} of {len(self.everywhere):,} rows, held out at random"

    @property
    def beyond(self) -> list[str]:
        """What more rows say of an automatic choice, where those held out are few."""
        report = getattr(self.model, "report_", None)
        return [] if report is None or len(self.y) >= FEW else [tell_out_of_fold(report, len(self.y))]


def tell_out_of_fold(result: SelectionReport, n_held: int) -> str:
    """What more rows than the few held out say of the model, in two sentences."""
    from genbayes.report.comparison import coverage_of

    held = coverage_of(result.diagnostics, 0.9)
    return (
        f"{n_held} rows are too few for a verdict. On {result.n_scored} others, each predicted by a model that had not "
        f"seen it, the CRPS is {result.crps:.3g} ± {result.crps_se:.2g} and the 90% intervals hold {held:.0%}."
    )


def fit_without_some(make: Callable[[], Any], X: pd.DataFrame, y: FloatArray, seed: int, *, quiet: bool) -> HeldOut:
    """Fit to four fifths of the rows, for a page that is scored on the others, which have no like among them."""
    from genbayes.data import learn_categories
    from genbayes.data.folds import hold_out_unseen
    from genbayes.data.matrix import MIN_ROWS, code_values

    model = make()
    categorical = model.get_params(deep=False).get("categorical")
    coded = [coder.column for coder in learn_categories(X, categorical)]
    learn, held = hold_out_unseen(code_values(X, len(y)), y, HELD_OUT, seed, coded)
    if len(learn) < MIN_ROWS:
        raise InvalidInput(
            f"At least {MIN_ROWS} runs are needed beside those held out for the report; there are {len(learn)}"
        )
    print_news(f"For the report: fitting {len(learn):,} rows; {len(held):,} are held out for scoring.", quiet)
    model = model.fit(X.iloc[learn], y[learn])
    print_news(f"For the model: fitting all {len(y):,} rows.", quiet)
    return HeldOut(model, X.iloc[held], y[held], X)
