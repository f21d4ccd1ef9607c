"""Every refusal of the command line: one table of what is typed and the one sentence that is answered."""

from pathlib import Path

import pytest

URL = "sqlite:///rocket.db"
AT = (URL, "rocket")
NEW = ("sqlite:///new.db", "new")
TABLES = {
    "new.csv": "name,x\na,1\n,2\nc,30\n",
    "named.csv": "X\n1\n",
    "gap.csv": "x\n1\nNA\n",
    "taken.csv": "x,mean\n1,2\n",
    "few.csv": "x,y\n" + "1,2\n2,3\n3,5\n",
    "eleven.csv": "x,y\n" + "".join(f"{i},{i * i}\n" for i in range(11)),
    "constant.csv": "x,y\n" + "".join(f"{i},2\n" for i in range(20)),
    "huge.csv": "x,y\n" + "".join(f"{i},{i}e306\n" for i in range(20)),
    "far.csv": "x,y\n" + "".join(f"{i if i < 19 else 1e300},{i}\n" for i in range(20)),
    "gaps.csv": "x,y\n" + "".join(f"{i},\n" for i in range(20)),
    "space.txt": "",
    "cut.json": "{",
    "cut.toml": "mach = [",
    "list.json": "[1, 2]",
    "falling.json": '{"x": [1, 0]}',
}
FIT, TO, COMPARE = ("fit", "runs.csv", "--target", "y"), ("-o", "m.gb"), ("compare", "runs.csv", "--target", "y")
NOT_OVER = "must differ from the files that are read, got"
LOOKS = "--input must look like mach=0.2:6, stages=1:8:int, rate=1e-3:1:log or gas=He,O2, got"
SENTENCES = [
    # usage
    (["fti"], "no such command 'fti'; did you mean 'fit'?"),
    (["fit"], "missing argument 'RUNS'; see genbayes fit --help"),
    (["fit", "a.csv"], "missing option '--target'; see genbayes fit --help"),
    (["evaluate", "m.gb"], "missing argument 'HELD_OUT'; see genbayes evaluate --help"),
    ([*FIT, *TO, "--members", "0"], "invalid value for '--members'"),
    (["fit", "--trget", "y"], "no such option: --trget"),
    (["--qiet"], "no such option: --qiet"),
    # files
    ([*FIT, "-o", "no/m.gb"], "path must lie in an existing folder, got 'no/m.gb'; create 'no' first"),
    ([*FIT, "-o", "."], "path must name a file, got the directory '.'; add a file name"),
    ([*FIT, *TO, "--report", "no/r.html"], "path must lie in an existing folder, got 'no/r.html'; create 'no' first"),
    ([*FIT, *TO, "--report", "m.gb"], "--report must differ from --output, got 'm.gb' for both"),
    ([*FIT, "-o", "runs.csv"], f"--output {NOT_OVER} 'runs.csv' for both"),
    ([*FIT, "-o", "folder/../runs.csv"], f"--output {NOT_OVER} 'folder/../runs.csv' for both"),
    ([*FIT, *TO, "--report", "runs.csv"], f"--report {NOT_OVER} 'runs.csv' for both"),
    (["demo", "--report", "no/r.html"], "path must lie in an existing folder, got 'no/r.html'"),
    (["demo", "--report", "."], "path must name a file, got the directory '.'"),
    ([*COMPARE, "--report", "runs.csv"], f"--report {NOT_OVER} 'runs.csv' for both"),
    (["evaluate", "m.gb", "runs.csv", "--target", "y", "--report", "./m.gb"], f"--report {NOT_OVER} 'm.gb' for both"),
    (["evaluate", "m.gb", "runs.csv", "--target", "y", "--report", "no/r.html"], "path must lie in an existing folder"),
    (["predict", "m.gb", "new.csv", "-o", "out.txt"], "path must end in .csv, .csv.gz, .tsv, .tsv.gz or .parquet, got"),
    (["predict", "m.gb", "new.csv", "-o", "new.csv"], f"--output {NOT_OVER} 'new.csv' for both"),
    (["predict", "m.gb", "new.csv", "-o", "no/out.csv"], "path must lie in an existing folder, got 'no/out.csv'"),
    (
        [*FIT, "-o", "m" * 253 + ".gb"],
        "path must have a name of at most 255 bytes, got 'mmmmmmmmmmmmmmmmmmmm...'; s",
    ),
    ([*FIT, "-o", "m" * 5000], "path must have a name of at most 255 bytes"),
    ([*FIT, "-o", "n/" * 2500 + "m.gb"], "path must be writable, got 'n/n/n/...File name too long"),
    ([*FIT, "-o", "loop.csv"], "path must be writable, got 'loop.csv'; Too many levels of symbolic links"),
    (["fit", "loop.csv", "--target", "y", *TO], "path must be readable, got 'loop.csv'; Too many levels of symbolic l"),
    (["predict", "m.gb", "loop.csv"], "path must be readable, got 'loop.csv'; Too many levels of symbolic links"),
    # tables
    (["fit", "huge.csv", "--target", "y", *TO], "y must lie within ±1e+304, got 1.9e+307; use another unit"),
    (
        ["fit", "far.csv", "--target", "y", *TO],
        "X['x'] must lie between -1.52e+25 and 1.52e+25, got 1e+300 in 1 of 20 rows (row 19); repair them, or use an",
    ),
    (["compare", "huge.csv", "--target", "y"], "y must lie within ±1e+304, got 1.9e+307; use another unit"),
    (
        ["fit", "gaps.csv", "--target", "y", *TO],
        "--target must not be missing, got no value in column 'y', 20 of 20",
    ),
    (
        ["fit", "gaps.csv", "--target", "y", *TO, "--drop-missing"],
        "table must have a row without missing cells, got none of 20",
    ),
    (
        ["fit", "run.csv", "--target", "y", *TO],
        "path must name an existing file, got 'run.csv'; did you mean 'runs.csv'",
    ),
    (
        ["fit", "runs.csv", "--target", "z", *TO],
        "--target must be a column of the table, got 'z'; the columns are 'x', 'g",
    ),
    (
        ["fit", "runs.csv", "--target", "gas", *TO],
        "--target must be numbers, got 'O2' in column 'gas', 20 of 20 rows (li",
    ),
    ([*FIT, "--inputs", "X", *TO], "--inputs must be columns of the table, got 'X'; did you mean 'x'?"),
    (["fit", "few.csv", "--target", "y", *TO], "At least 10 runs are needed; the table has 3"),
    (
        ["fit", "eleven.csv", "--target", "y", *TO, "--report", "r.html"],
        "At least 10 runs are needed beside those held out for the report; there are 9",
    ),
    (["compare", "few.csv", "--target", "y"], "At least 10 runs are needed; the table has 3"),
    (["compare", "runs.csv", "--target", "yy"], "--target must be a column of the table, got 'yy'"),
    ([*COMPARE], "inputs must be numbers unless they are categories, got 'O2'...or name the column in --categorical"),
    (
        ["evaluate", "m.gb", "runs.csv", "--target", "gas"],
        "--target must be numbers, got 'O2' in column 'gas', 20 of 20",
    ),
    (["evaluate", "m.gb", "runs.csv", "--target", "yy"], "--target must be a column of the table, got 'yy'"),
    (["evaluate", "m.gb", "runs.csv", "--target", "x"], "inputs must not contain the target, got 'x' among them"),
    (["predict", "m.gb", "named.csv"], "inputs must be columns of the table, got 'x'; did you mean 'X'?"),
    (
        ["predict", "m.gb", "gap.csv"],
        "inputs must not be missing, got no value in column 'x', 1 of 2 rows (line 3); repair them, or leave...",
    ),
    (
        ["predict", "m.gb", "taken.csv"],
        "the table must have no column 'mean', which the prediction adds, got one in 'taken.csv'",
    ),
    # options
    (
        ["predict", "m.gb", "new.csv", "--samples", "1000000000"],
        "--samples must be at most 20,000,000 for 1 row, got 1,000,000,000; ask for fewer",
    ),
    (["predict", "m.gb", "named.csv", "--samples", "20000001"], "--samples must be at most 20,000,000 for 1 row, got"),
    (
        [*FIT, "--bounds", "1", *TO],
        "--bounds must be two numbers, either of which may be left out, got '1'; try 0,1 or",
    ),
    ([*FIT, "--bounds", ",", *TO], "--bounds must be two numbers, either of which may be left out, got ','"),
    ([*FIT, "--bounds", "1,2,3", *TO], "--bounds must be two numbers, either of which may be left out, got '1,2,3'"),
    ([*FIT, "--bounds", "low,1", *TO], "--bounds must be numbers such as 0,1 or 0,, got 'low'"),
    ([*FIT, "--weights", "0.3,0.7", *TO], "--weights must be a name or three numbers, got '0.3,0.7'; try 0.3,0.3,0.4"),
    (
        ["predict", "m.gb", "new.csv", "--quantiles", "0,0.5"],
        "--quantiles must lie strictly between 0 and 1, got 0.0; pass 0.05",
    ),
    (
        ["predict", "m.gb", "new.csv", "--quantiles", "low"],
        "--quantiles must be levels such as 0.05,0.5,0.95, got 'low'",
    ),
    (["predict", "m.gb", "new.csv", "--quantiles", ""], "--quantiles must be levels such as 0.05,0.5,0.95, got ''"),
    (
        ["predict", "m.gb", "new.csv", "--quantiles", "0.5,0.50"],
        "--quantiles must be different levels, got '0.5,0.50'; name each once",
    ),
    ([*COMPARE, "--candidates", "gpp", "--inputs", "x"], "--candidates must be among gp,"),
    ([*FIT, *TO, "--bounds", "1,0", "--inputs", "x"], "--bounds must be finite or None with lower < upper, got (1.0"),
    (
        [*FIT, *TO, "--bounds=50,", "--inputs", "x"],
        "y must lie within --bounds, got values outside in 15 of 20 rows",
    ),
    ([*FIT, *TO, "--categorical", "gsa"], "--categorical must be columns of the table, got 'gsa'; did you mean 'gas'?"),
    ([*FIT, *TO, "--inputs", "x", "--categorical", "gas"], "--categorical must name columns of X, got 'gas'"),
    (
        [*FIT, *TO, "--model", "network", "--recipe", "slow", "--inputs", "x"],
        "--recipe must be one of 'fast', 'paper', got 'slow'",
    ),
    (
        [*FIT, *TO, "--model", "network", "--weights", "1,1,0", "--inputs", "x"],
        "--weights must be three numbers of at least 0, the last positive, got (1.0, 1.0, 0.0)",
    ),
    (["design", "create", *NEW, "--input", "x=0:1", "--lease-seconds", "0"], "--lease-seconds must be positive"),
    (["design", "create", *NEW, "--input", "x=0:1", "--initial", "grid"], "--initial must be one of 'latin', 'sobol'"),
    (["design", "create", *NEW, "--input", "x=0:1", "--responses", "x"], "--responses must not be named like an input"),
    (["design", "tell", *AT, "1", "--y", "abc"], "--y must be a finite number, got 'abc'; trial 1 was not changed"),
    (["worker", URL, "rokcet", "--name", "me", "--", "true"], "name must be a campaign of 'sqlite:///rocket.db', got"),
    # the model
    ([*FIT, *TO, "--model", "gpp"], "--model must be among gp, gp-smooth, ...got 'gpp'; did you mean 'gp'?"),
    ([*FIT, *TO, "--model", "netwrk"], "--model must be among gp, ...got 'netwrk'; did you mean 'network'?"),
    ([*FIT, *TO, "--epochs", "3"], "--epochs must go with --model network, got it with the automatic choice"),
    ([*FIT, *TO, "--model", "gp", "--members", "2"], "--members must go with --model network, got it with --model gp"),
    ([*FIT, *TO, "--model", "gp", "--recipe", "fast"], "--recipe must go with --model network, got it with --model gp"),
    ([*FIT, *TO, "--weights", "auto"], "--weights must go with --model network, got it with the automatic choice"),
    ([*FIT, *TO, "--model", "gp", "--time-limit", "9"], "--time-limit must go with the automatic choice, got it with"),
    ([*FIT, *TO, "--model", "gp", "--jobs", "1"], "--jobs must go with the automatic choice, got it with --model gp"),
    ([*FIT, *TO, "--model", "gp", "--bounds", "0,"], "--bounds must go with the automatic choice or --model network, "),
    ([*FIT, *TO, "--jobs", "0"], "--jobs must be a positive whole number, or -1 for all ...cores, got 0"),
    ([*FIT, *TO, "--jobs", "9999"], "--jobs must be at most the ...cores of this machine, got 9999; pass -1 for all"),
    ([*COMPARE, "--jobs", "9999"], "--jobs must be at most the ...cores of this machine, got 9999; pass -1 for all"),
    (["demo", "--jobs", "-2"], "--jobs must be a positive whole number, or -1 for all ...cores, got -2"),
    ([*FIT, *TO, "--time-limit", "0", "--inputs", "x"], "--time-limit must be"),
    ([*COMPARE, "--time-limit", "0", "--inputs", "x"], "--time-limit must be"),
    (
        [*FIT, *TO, "--time-limit", "1e-6", "--inputs", "x"],
        "--time-limit must leave time for at least one candidate, got",
    ),
    (
        [*COMPARE, "--time-limit", "1e-6", "--inputs", "x"],
        "--time-limit must leave time for at least one candidate, got",
    ),
    # campaigns
    (["design", "create", *NEW], "inputs must be given by one of --input and --space, got neither"),
    (
        ["design", "create", *NEW, "--input", "x=0:1", "--space", "a.toml"],
        "inputs must be given by one of --input and --spac",
    ),
    (["design", "create", *NEW, "--input", "mach"], f"{LOOKS} 'mach'"),
    (["design", "create", *NEW, "--input", "=0:1"], f"{LOOKS} '=0:1'"),
    (["design", "create", *NEW, "--input", "mach="], f"{LOOKS} 'mach='"),
    (["design", "create", *NEW, "--input", "mach=a:b"], f"{LOOKS} 'mach=a:b'"),
    (["design", "create", *NEW, "--input", "n=1.5:3:int"], f"{LOOKS} 'n=1.5:3:int'"),
    (["design", "create", *NEW, "--input", "n=1:3:cubic"], f"{LOOKS} 'n=1:3:cubic' with the scale 'cubic'"),
    (
        ["design", "create", *NEW, "--input", "x=0:1", "--input", "x=0:2"],
        "--input must name each input once, got 'x' tw",
    ),
    (["design", "create", *NEW, "--input", "x=1:0"], "bounds of 'x' must rise"),
    (["design", "create", *NEW, "--input", "x=1:1"], "bounds of 'x' must differ"),
    (["design", "create", *NEW, "--input", "gas=He"], "choices of 'gas' must be two or more"),
    (["design", "create", *NEW, "--space", "space.txt"], "--space must end in .json or .toml, got 'space.txt'"),
    (["design", "create", *NEW, "--space", "cut.json"], "--space must be a JSON file, got 'cut.json'"),
    (["design", "create", *NEW, "--space", "cut.toml"], "--space must be a TOML file, got 'cut.toml'"),
    (["design", "create", *NEW, "--space", "list.json"], "inputs must map names to bounds"),
    (["design", "create", *NEW, "--space", "falling.json"], "bounds of 'x' must rise"),
    (["design", "create", *NEW, "--space", "missing.json"], "--space must be a readable file, got 'missing.json'"),
    (
        ["design", "create", "rocket.db", "a", "--input", "x=0:1"],
        "url must name a database such as sqlite:///rocket.db",
    ),
    (["design", "create", "sqlite:///no/a.db", "a", "--input", "x=0:1"], "url must lie in an existing folder"),
    (["design", "create", *NEW, "--input", "x=0:1", "--proposer", "oracle"], "--proposer must be one of"),
    (
        ["design", "create", *AT, "--input", "x=0:1"],
        "Campaign 'rocket' already exists; open it, or choose another name",
    ),
    (["design", "ask", *NEW], "url must name an existing database, got 'sqlite:///new.db'; create the campaign first"),
    (["design", "ask", *AT, "-n", "0"], "invalid value for '-n'"),
    (["design", "ask", URL, "rokcet"], "name must be a campaign of 'sqlite:///rocket.db', got 'rokcet'; did you mean"),
    (["design", "tell", *AT, "9", "--y", "1"], "trial must be a number from 1 to 4, got 9"),
    (["design", "tell", *AT, "1", "--y", "1", "--lease", "5"], "--lease must be one of trial 1, got 5"),
    (["design", "fail", *AT, "9"], "trial must be a number from 1 to 4, got 9"),
    (["design", "status", *AT, "--report", "no/page.html"], "path must lie in an existing folder"),
    (["design", "export", *AT, "-o", "runs.xlsx"], "path must end in .csv"),
    (["design", "sttaus", *AT], "no such command 'sttaus'; did you mean 'status'"),
    # workers
    (["worker", *AT], "command must name a program, got nothing after --; try -- ./simulate.sh {mach}"),
    (
        ["worker", *AT, "--", "echo", "{mahc}"],
        "command must use inputs of the campaign, got {mahc}; did you mean 'mach'; or write {{mahc}} to keep braces",
    ),
    (
        ["worker", *AT, "--", "echo", "{speed}"],
        "command must use inputs of the campaign, got {speed}; the inputs are mach; or write {{speed}} to keep braces",
    ),
    (["worker", *AT, "--", "no-such-program"], "command must name a program that can be run, got 'no-such-program'"),
    (["worker", *AT, "--timeout", "soon", "--", "echo"], "invalid value for '--timeout'"),
]


@pytest.fixture(scope="module")
def campaign_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    from genbayes import Campaign

    file = tmp_path_factory.mktemp("campaign") / "rocket.db"
    Campaign.create(f"sqlite:///{file}", "rocket", {"mach": (0.2, 6)}, n_initial=4, random_state=0, proposer="random")
    return file.read_bytes()


@pytest.mark.parametrize(
    ("words", "sentence"), SENTENCES, ids=lambda each: " ".join(each)[:60] if isinstance(each, list) else ""
)
def test_bad_input_is_one_sentence_before_any_work_and_leaves_every_file_as_it_was(
    ask, loaded, runs, tmp_path: Path, campaign_file: bytes, words: list[str], sentence: str
) -> None:
    for name, text in TABLES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "rocket.db").write_bytes(campaign_file)
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    answer = ask(*words)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    beginning, _, rest = sentence.partition("...")
    assert answer.err.startswith(f"Error: {beginning}")
    assert rest in answer.err
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert {name: content for name, content in after.items() if not name.startswith("rocket.db")} == {
        name: content for name, content in before.items() if not name.startswith("rocket.db")
    }


def test_a_missing_model_and_a_file_that_is_none_are_one_sentence(ask, runs) -> None:
    answer = ask("predict", "m.gb", "runs.csv")
    assert (answer.code, answer.err) == (2, "Error: path must name an existing model file, got 'm.gb'\n")
    answer = ask("predict", "runs.csv", "runs.csv")
    sentence = "Error: path must name a genbayes model file, got 'runs.csv', which is not one\n"
    assert (answer.code, answer.err) == (2, sentence)
