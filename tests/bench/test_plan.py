"""Plans: what is run, in which order, and what is left out with a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from genbayes.errors import InvalidInput
from genbayes_bench.plan import make_plan
from genbayes_bench.registry import load_registry

TINY = str(Path(__file__).with_name("tiny.py"))
REGISTRY = load_registry([TINY])
KNOWN = "problem must be a known name"


def test_every_first_replicate_comes_before_any_second() -> None:
    jobs = make_plan(REGISTRY, ["bgp2", "friedman", "jump1d"], "paper", ["gbc", "gp"]).jobs
    numbers = [job.replicate for job in jobs]
    assert numbers == sorted(numbers)
    pairs = {(problem, method) for problem in ("bgp2", "friedman", "jump1d") for method in ("gbc", "gp")}
    assert {(job.problem, job.method) for job in jobs[:6]} == pairs


def test_small_problems_and_quick_methods_come_first() -> None:
    jobs = make_plan(REGISTRY, ["phantom", "bgp2"], "paper", ["gbc-paper", "gp"], range(1)).jobs
    assert [job.method for job in jobs] == ["gp", "gp", "gbc-paper", "gbc-paper"]
    assert [job.n_train for job in jobs] == [1_600, 9_181, 1_600, 9_181]


TOO_LARGE = "n = 5,000, 10,000, 20,000, 50,000, 100,000, 200,000: more than 2,500 runs would take too long"


@pytest.mark.parametrize(
    ("problems", "protocol", "method", "kept", "told"),
    [
        (["tiny", "tiny_other"], "paper", "jumper", {("tiny_other", 30)}, "jumper on tiny: no jump"),
        (
            ["friedman_scaling"], "paper", "het-gp", {("friedman_scaling", n) for n in (500, 1_000, 2_000)},
            f"het-gp on friedman_scaling: {TOO_LARGE}",
        ),
        (["friedman_scaling"], "paper", "jump-gp", set(), "jump-gp on friedman_scaling: the response does not jump"),
        (["rocket"], "quick", "al", set(), "al on rocket: designs are measured at their full size only"),
        (["bgp2"], "paper", "al", set(), "al on bgp2: its runs cannot be chosen one by one"),
    ],
)  # fmt: skip
def test_what_does_not_apply_is_left_out_with_its_reason_told_once(problems, protocol, method, kept, told) -> None:
    plan = make_plan(REGISTRY, problems, protocol, [method])
    assert {(job.problem, job.n_train) for job in plan.jobs} == kept
    assert [str(out) for out in plan.left_out] == [told]


def test_problems_without_their_data_are_left_out_with_a_reason(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("GENBAYES_SHARED", str(tmp_path))
    plan = make_plan(REGISTRY, ["yacht", "tiny"], "paper", ["bell"])
    assert {job.problem for job in plan.jobs} == {"tiny"}
    assert plan.left_out[0].method is None
    assert "data/uci/yacht.csv is not in the folder of shared data; set GENBAYES_SHARED" in plan.left_out[0].reason


@pytest.mark.parametrize(("asked", "expected"), [(None, {0, 1, 2}), (range(5), set(range(5))), (range(7, 9), {7, 8})])
def test_replicates_are_those_of_the_protocol_unless_told(asked, expected) -> None:
    assert {job.replicate for job in make_plan(REGISTRY, ["tiny"], "paper", replicates=asked).jobs} == expected


def test_slow_methods_run_few_replicates_unless_told() -> None:
    of_paper = [job for job in make_plan(REGISTRY, ["bgp2"], "paper").jobs if job.method == "gbc-paper"]
    assert len(of_paper) == 5
    assert len(make_plan(REGISTRY, ["bgp2"], "paper", ["gbc-paper"], range(20)).jobs) == 20


def test_groups_name_problems() -> None:
    emulation, design = REGISTRY.choose(["emulation"]), REGISTRY.choose(["design"])
    assert REGISTRY.choose([]) == emulation
    assert "bgp2" in emulation
    assert "rocket" in design
    assert not set(emulation) & set(design)
    inferred = set(REGISTRY.choose(["inference"]))
    assert not inferred & {*emulation, *design}
    assert set(REGISTRY.choose(["all"])) == {*emulation, *design, *inferred} == set(REGISTRY.problems)


def test_a_study_names_problems_with_their_methods() -> None:
    jobs = make_plan(REGISTRY, ["losses"], "part", replicates=range(1)).jobs
    assert {job.problem for job in jobs} == {"phantom", "star", "bgp2"}
    weights = ("0.3-0.3-0.4", "0.1-0.2-0.7", "0.05-0.25-0.7", "0-0.3-0.7")
    assert {job.method for job in jobs} == {f"loss-{each}" for each in weights}
    assert {job.n_train for job in jobs} == {1_000}
    assert {job.method for job in make_plan(REGISTRY, ["losses"], "part", ["gp"]).jobs} == {"gp"}


def test_designs_go_on_to_their_own_number_of_runs() -> None:
    jobs = make_plan(REGISTRY, ["rocket"], "paper", ["al", "al-random", "al-deep-gp"], range(1)).jobs
    assert {job.method: job.n_train for job in jobs} == {"al": 300, "al-random": 900, "al-deep-gp": 150}


def test_a_name_given_twice_counts_once() -> None:
    assert len(make_plan(REGISTRY, ["tiny", "tiny"], "paper", ["bell", "bell"]).jobs) == 3


@pytest.mark.parametrize(
    ("names", "methods", "message"),
    [
        (["bpg2"], None, f"{KNOWN}, got 'bpg2'; did you mean 'bgp2'? genbayes bench list shows all"),
        (["quik"], None, f"{KNOWN}, got 'quik'; did you mean 'quick'?"),
        (["BGP2"], None, f"{KNOWN}, got 'BGP2'; did you mean 'bgp2'?"),
        (["desing"], None, f"{KNOWN}, got 'desing'; did you mean 'design'?"),
        (["zzz"], None, f"{KNOWN}, got 'zzz'; genbayes bench list shows all"),
        (["bgp2"], ["gbc-agu"], "method must be a known name, got 'gbc-agu'; did you mean 'gbc-aug'?"),
        (["bgp2"], [], "methods must name at least one, got none"),
    ],
)
def test_unknown_names_are_answered_with_the_nearest(names, methods, message) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        make_plan(REGISTRY, names, "paper", methods)


def test_a_problem_without_a_protocol_says_so() -> None:
    registry = load_registry()
    registry.problems["lonely"] = registry.problems["bgp2"]
    with pytest.raises(InvalidInput, match="lonely must have a Protocol, got none; write one beside its Problem"):
        registry.protocol("lonely", "quick")


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "--with must name a Python file, got"), ("1 +", "--with must name a file that runs, got .*SyntaxError")],
)
def test_a_file_that_does_not_run_is_told(tmp_path, text, message) -> None:
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        load_registry([str(path)])
