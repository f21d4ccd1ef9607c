"""`genbayes infer fit` and `sample`: files, pages, and one sentence for bad input."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from genbayes import PosteriorEstimator, load
from genbayes.data import read_table

PRIOR = ("--prior", "a=-1:1", "--prior", "b=norm(0,1)")
COLUMNS = ("--theta", "a,b", "--y", "s1,s2")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with simulations, a fitted posterior and observations."""
    folder, rng = tmp_path_factory.mktemp("infer"), np.random.default_rng(0)
    theta = pd.DataFrame({"a": rng.uniform(-1, 1, 300), "b": rng.normal(size=300)})
    y = pd.DataFrame({"s1": theta["a"] + 0.5 * rng.normal(size=300), "s2": theta["b"] + rng.normal(size=300)})
    pd.concat([y, theta], axis=1).to_parquet(folder / "sims.parquet")
    from genbayes.cli.spaces import parse_prior

    PosteriorEstimator(parse_prior(PRIOR[1::2], ["a", "b"]), random_state=0).fit(theta, y).save(folder / "p.gb")
    pd.DataFrame({"s2": [0.5], "s1": [0.2]}).to_csv(folder / "one.csv", index=False)
    pd.DataFrame({"s1": [0.2, 50.0], "s2": [0.5, 0.0]}).to_csv(folder / "two.csv", index=False)
    pd.DataFrame({"s1": [50.0], "s2": [0.0]}).to_csv(folder / "far.csv", index=False)
    pd.DataFrame({"s1": rng.normal(size=50), "s2": rng.normal(size=50)}).to_csv(folder / "again.csv", index=False)
    gaps = pd.concat([y, theta], axis=1).assign(note=np.nan)
    gaps.loc[3, "s1"] = gaps.loc[7, "a"] = np.nan
    gaps.to_csv(folder / "gaps.csv", index=False)
    gaps.dropna(subset=["s1", "a"]).astype(object).replace({"s2": {y["s2"][0]: "lost"}}).to_csv(
        folder / "text.csv", index=False
    )
    pd.DataFrame({"s1": [0.2, np.nan], "s2": ["0.5", "lost"]}).to_csv(folder / "odd.csv", index=False)
    pd.DataFrame({"s1": [0.2], "s3": [0.1]}).to_csv(folder / "other.csv", index=False)
    return folder


def test_fit_writes_a_posterior_and_says_how_far_to_trust_it(ask, files) -> None:
    answer = ask("infer", "fit", str(files / "sims.parquet"), *COLUMNS, *PRIOR, "-o", "posterior.gb")
    assert answer.code == 0
    assert "300" in answer.out
    assert "genbayes infer sample posterior.gb observed.csv" in answer.out
    assert "held-out pairs" in answer.lines
    assert load("posterior.gb").response_names_ == ("s1", "s2")


def test_a_learnt_summary_is_asked_for_by_the_columns_of_the_observations(ask, files) -> None:
    table = pd.read_parquet(files / "sims.parquet")
    uniform = {"a": stats.uniform(-1, 2), "b": stats.norm(0, 1)}
    estimator = PosteriorEstimator(uniform, summary="network", n_members=1, random_state=0)
    estimator.fit(table[["a", "b"]], table[["s1", "s2"]]).save(files / "network.gb")
    answer = ask("infer", "sample", str(files / "network.gb"), str(files / "one.csv"), "-n", "100", "--json")
    assert answer.code == 0, answer.err
    assert len(answer.json["observations"]) == 1


def test_what_was_summarised_without_names_goes_by_the_order_of_columns(ask, files) -> None:
    table = pd.read_parquet(files / "sims.parquet")
    uniform = {"a": stats.uniform(-1, 2), "b": stats.norm(0, 1)}
    estimator = PosteriorEstimator(uniform, summary="network", n_members=1, random_state=0)
    estimator.fit(table[["a", "b"]].to_numpy(), table[["s1", "s2"]].to_numpy()).save(files / "unnamed.gb")
    y = pd.DataFrame({"first": [0.2, 0.1], "second": [0.5, -1.0]})
    y.to_csv(files / "unnamed.csv", index=False)
    answer = ask("infer", "sample", str(files / "unnamed.gb"), str(files / "unnamed.csv"), "-n", "100", "--json")
    assert answer.code == 0, answer.err
    expected = estimator.condition(y.to_numpy()).mean()[:, 1]
    assert [each["b"]["mean"] for each in answer.json["observations"]] == pytest.approx(expected)
    assert ask("infer", "sample", str(files / "unnamed.gb"), str(files / "gaps.csv")).code == 2


def test_a_table_is_not_read_as_a_set(ask, files) -> None:
    theta = pd.DataFrame({"a": np.linspace(-1, 1, 100)})
    sets = np.random.default_rng(0).normal(theta.to_numpy()[:, :, None], 1, (100, 4, 2))
    estimator = PosteriorEstimator({"a": stats.uniform(-1, 2)}, summary="set", n_members=1, random_state=0)
    estimator.fit(theta, sets).save(files / "set.gb")
    answer = ask("infer", "sample", str(files / "set.gb"), str(files / "two.csv"))
    assert answer.code == 2
    assert "POSTERIOR must take one observation a row, got one that takes sets" in answer.err


@pytest.mark.filterwarnings("default")
def test_fit_in_json_without_a_prior_says_which_was_taken(ask, files) -> None:
    answer = ask("infer", "fit", str(files / "sims.parquet"), *COLUMNS, "-o", "p.gb", "--json")
    assert answer.err.startswith("Warning: no prior was passed; taken as uniform on the box that theta fills: a in [")
    assert answer.json["prior"]["margins"][0]["name"] == "uniform"
    assert answer.json["report"]["n_pairs"] == 30


@pytest.mark.filterwarnings("default")
def test_rows_with_missing_cells_are_left_out_where_that_is_asked_for(ask, files) -> None:
    words = ("infer", "fit", str(files / "gaps.csv"), *COLUMNS, *PRIOR, "-o", "p.gb", "--json", "--drop-missing")
    answer = ask(*words)
    assert answer.err.strip() == "Warning: dropped 2 of 300 rows (lines 5, 9) for missing cells"
    assert (answer.json["pairs"], answer.json["dropped"]) == (298, 2)


def test_sample_writes_draws_and_a_page_with_all_that_was_promised(ask, files, tmp_path) -> None:
    arguments = ("-n", "500", "-o", "draws.parquet", "--report", "page.html")
    answer = ask("infer", "sample", str(files / "p.gb"), str(files / "one.csv"), *arguments)
    assert answer.code == 0
    draws = read_table("draws.parquet")
    assert list(draws.columns) == ["a", "b"]
    assert len(draws) == 500
    assert draws["a"].abs().max() <= 1
    text = (tmp_path / "page.html").read_text()
    assert all(title in text for title in ("Posterior", "Posterior predictive check", "Calibration", "conformal 90%"))
    assert "weighted by this posterior" in text


@pytest.mark.filterwarnings("default")
def test_a_page_of_one_of_many_observations_with_predictions_of_ones_own(ask, files, tmp_path) -> None:
    given = ("--row", "1", "--predictive", str(files / "again.csv"), "--report", "page.html", "-o", "d.csv", "-n", "20")
    answer = ask("infer", "sample", str(files / "p.gb"), str(files / "two.csv"), *given)
    assert (
        "Warning: y lies outside what was simulated: 1 of 2 rows (observation 2), in observation 2 s1 = 50"
        in answer.err
    )
    assert "--strict" in answer.err
    assert read_table("d.csv")["observation"].tolist() == [1] * 20 + [2] * 20
    assert "From 50 simulations with draws from the posterior" in (tmp_path / "page.html").read_text()


def test_a_parameter_may_be_called_observation(ask, files) -> None:
    table = pd.read_parquet(files / "sims.parquet")[:100].rename(columns={"a": "observation"})
    estimator = PosteriorEstimator({"observation": stats.uniform(-1, 2)}, n_members=1, random_state=0)
    estimator.fit(table[["observation"]], table[["s1"]]).save(files / "observation.gb")
    pd.DataFrame({"s1": [0.2, 0.1]}).to_csv(files / "pair.csv", index=False)
    answer = ask("infer", "sample", str(files / "observation.gb"), str(files / "pair.csv"), "-n", "20", "-o", "d.csv")
    assert answer.code == 0, answer.err
    draws = read_table("d.csv")
    assert list(draws.columns) == ["observation_number", "observation"]
    assert draws["observation_number"].tolist() == [1] * 20 + [2] * 20
    summary = estimator.condition(pd.read_csv(files / "pair.csv")).summary()
    assert summary.index.tolist() == [(0, "observation"), (1, "observation")]


@pytest.mark.parametrize("words", [["predict"], ["evaluate", "--target", "s1"]])
def test_a_posterior_is_no_surrogate(ask, files, words: list[str]) -> None:
    answer = ask(*words, str(files / "p.gb"), str(files / "one.csv"))
    assert answer.code == 2
    assert (
        "MODEL must be a file that fit wrote, got PosteriorEstimator in p.gb; try genbayes infer sample" in answer.err
    )


@pytest.mark.filterwarnings("default")
def test_a_page_does_not_repeat_the_warning(ask, files) -> None:
    answer = ask("infer", "sample", str(files / "p.gb"), str(files / "far.csv"), "--report", "page.html", "-n", "20")
    assert answer.err.count("outside what was simulated") == 1


@pytest.mark.filterwarnings("default")
def test_sample_in_json_has_every_observation(ask, files) -> None:
    found = ask("infer", "sample", str(files / "p.gb"), str(files / "two.csv"), "-n", "10", "--json").json
    assert found["outside"] == [False, True]
    assert found["observations"][1]["b"].keys() == {"mean", "sd", "interval_90"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("fit {}/sims.parquet --theta a,c --y s1 -o p.gb", "--theta must be columns of the table, got 'c'"),
        ("fit {}/sims.parquet --theta a --y a,s1 -o p.gb", "--theta and --y must name different columns, got 'a'"),
        ("fit {}/sims.parquet --theta , --y s1 -o p.gb", "--theta must name different columns, got ','"),
        ("fit {}/nothing.csv --theta a --y s1 -o p.gb", "path must name an existing file"),
        ("fit {}/one.csv --theta s1 --y s2 -o p.gb", "theta must vary, got the same value of 's1'"),
        ("fit {}/sims.parquet --theta a --y s1 -o p.gb --prior b=0:1", "--prior must name each of a once"),
        ("fit {}/sims.parquet --theta a --y s1 -o p.gb --prior a=0;1", "--prior must look like a=0:2"),
        ("fit {}/sims.parquet --theta a --y s1 -o p.gb --prior a=norm(0,0)", "prior must be proper"),
        ("fit {}/sims.parquet --theta a --y s1 -o p.gb --prior a=norn(0,1)", "did you mean 'norm'?"),
        ("fit {}/sims.parquet --theta a --y s1 -o p.gb --prior a=0:1", "theta must lie in the prior's support, got"),
        (
            "fit {}/sims.parquet --theta a,b --y s1 -o p.gb --prior a=-1:1",
            "--prior must name every parameter",
        ),
        (
            "fit {}/gaps.csv --theta a,b --y s1 -o p.gb",
            "--theta must not be missing, got no value in column 'a', 1 of 300 rows (line 9); repair them, or "
            "leave such rows out with --drop-missing",
        ),
        ("fit {}/gaps.csv --theta b --y s1 -o p.gb", "--y must not be missing, got no value in column 's1', 1 of 300"),
        (
            "fit {}/text.csv --theta b --y s1,s2 -o p.gb",
            "--y must be numbers, got 'lost' in column 's2', 1 of 298 rows (line 2); repair them",
        ),
        ("fit {}/gaps.csv --theta b --y note -o p.gb --drop-missing", "table must have a row without missing cells"),
        (
            "sample {}/p.gb {}/odd.csv",
            "responses in odd.csv must not be missing, got no value in column 's1', 1 of 2 rows (line 3); drop",
        ),
        (
            "sample {}/p.gb {}/other.csv",
            "other.csv must have a column for each response of infer fit ('s1', 's2'), got none for 's2'",
        ),
        ("sample {}/p.gb {}/one.csv -n 20000001", "--number must be at most 20,000,000 for 1 row, got 20,000,001"),
        (
            "sample {}/p.gb {}/two.csv -n 5000001",
            "--number must be at most 5,000,000 for 2 rows of 2 parameters, got 5,000,001",
        ),
        ("sample {}/p.gb {}/one.csv --predictive {}/two.csv", "--predictive must go with --report, got 'two.csv'"),
        ("sample {}/p.gb {}/two.csv --strict", "y must lie within what was simulated, got 1 of 2 rows"),
        ("sample {}/p.gb {}/two.csv --row 3", "--row must be at most 2"),
        ("sample {}/p.gb {}/sims.txt", "path must end in .csv"),
        ("sample {}/one.csv {}/two.csv", "path must name a genbayes model file"),
        ("sample {}/p.gb {}/one.csv -o draws.xlsx", "path must end in .csv"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(ask, files, words: str, sentence: str) -> None:
    answer = ask("infer", *words.replace("{}", str(files)).split())
    assert answer.code == 2
    last = answer.err.splitlines()[-1]
    assert last.startswith("Error: ")
    assert sentence in last
