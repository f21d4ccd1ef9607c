"""Records: written whole, read back equal, and whatever else lies in the folder told rather than fatal."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genbayes.errors import InvalidInput, UnwritableFile
from genbayes_bench.record import (
    OtherFormat,
    Record,
    UnreadRecord,
    find_records,
    jsonable,
    merge_results,
    open_results,
    pack_records,
    read_records,
    record_path,
    write_record,
)

TOLD = {
    "settings": {"n_starts": 3, "categorical": None},
    "versions": {"genbayes": "0.1.0"},
    "detail": {},
    "error": None,
}
COSTS = {"fit_seconds": 1.5, "predict_seconds": 0.5, "peak_memory_mb": 300.0, "finished": "2026-01-01T00:00:00+00:00"}
RECORD = Record("bgp2", "paper", "gp", 3, 3, 1600, 400, 2, scores={"crps": 1.25, "rmse": 2.5}, **TOLD, **COSTS)
TEXT = RECORD.to_json()
LATER = replace(RECORD, finished="2027-01-01T00:00:00+00:00", scores={"crps": 9.0})
FAILED_LATER = replace(LATER, scores={}, error="ImportError: no engine")


def test_a_record_comes_back_as_it_was_written(tmp_path) -> None:
    path = write_record(tmp_path, RECORD)
    assert path == record_path(tmp_path, RECORD.key)
    assert read_records(tmp_path) == [RECORD]


@given(st.dictionaries(st.text(max_size=5), st.floats(allow_nan=True) | st.text(max_size=5) | st.none(), max_size=3))
def test_any_detail_is_one_line_of_strict_json(detail) -> None:
    text = replace(RECORD, detail=detail).to_json()
    assert "\n" not in text
    expected = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in detail.items()}
    assert Record.from_json(text).detail == expected


def test_numbers_of_numpy_and_objects_can_be_told() -> None:
    told = jsonable({"a": np.float64(1.5), "b": np.arange(2), "c": range(2), "d": float("inf")})
    assert told == {"a": 1.5, "b": [0, 1], "c": "range(0, 2)", "d": None}


def test_loose_and_packed_records_are_read_together(tmp_path) -> None:
    pack_records([RECORD], tmp_path)
    write_record(tmp_path, replace(RECORD, replicate=4))
    assert [r.replicate for r in read_records(tmp_path)] == [3, 4]


@pytest.mark.parametrize(
    ("packed", "loose", "counts"),
    [
        (LATER, RECORD, LATER),
        (RECORD, LATER, LATER),
        (FAILED_LATER, RECORD, RECORD),  # a failure does not replace a success
        (RECORD, FAILED_LATER, RECORD),
    ],
    ids=["packed success", "loose success", "packed failure", "loose failure"],
)
def test_of_two_records_of_one_job_the_later_success_counts(tmp_path, packed, loose, counts) -> None:
    pack_records([packed], tmp_path)
    write_record(tmp_path, loose)
    assert read_records(tmp_path) == [counts]
    pack_records(merge_results(tmp_path, tmp_path)[0], tmp_path)
    assert read_records(tmp_path) == [counts]


def test_sizes_and_protocols_are_records_of_their_own(tmp_path) -> None:
    for record in (RECORD, replace(RECORD, n_train=500), replace(RECORD, protocol="quick")):
        write_record(tmp_path, record)
    assert len(read_records(tmp_path)) == 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TEXT[:50], "half-written"),
        ("", "half-written"),
        ("[1, 2]", "with the field 'format'"),
        ("{}", "with the field 'format'"),
        ('{"format": 1}', "must have all fields"),
        (TEXT.replace('"format": 1', '"format": 2'), "of format 1, got format 2"),
        (TEXT.replace('"replicate": 3', '"replicate": "3"'), "replicate of a record must be int"),
        (TEXT.replace('"replicate": 3', '"replicate": true'), "replicate of a record must be int"),
        (TEXT.replace('"crps": 1.25', '"crps": "low"'), "scores of a record must be finite numbers"),
        (TEXT.replace('"crps": 1.25', '"crps": NaN'), "scores of a record must be finite numbers"),
        (TEXT.replace('"fit_seconds": 1.5', '"fit_seconds": NaN'), "fit_seconds of a record must be fin"),
        (TEXT.replace('"0.1.0"', "0.1"), "versions of a record must be text"),
        ("\x00\x01", "half-written"),
    ],
)
def test_what_is_no_record_is_told_and_left_out(tmp_path, text, reason) -> None:
    write_record(tmp_path, replace(RECORD, replicate=4))
    record_path(tmp_path, RECORD.key).write_text(text)
    with pytest.warns(UnreadRecord, match=reason):
        assert [r.replicate for r in read_records(tmp_path)] == [4]


def test_a_packed_file_has_a_line_a_record_in_order_and_a_half_written_one_leaves_the_others(tmp_path) -> None:
    (path,) = pack_records([replace(RECORD, replicate=r) for r in (10, 3)], tmp_path)
    assert [json.loads(line)["replicate"] for line in path.read_text().splitlines()] == [3, 10]
    path.write_text(path.read_text()[:-30])
    records, complaints = find_records(tmp_path)
    assert [r.replicate for r in records] == [3]
    assert complaints[0].startswith(f"line 2 of {path} was left out")


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.symlink_to("nowhere")])
def test_what_cannot_be_read_leaves_the_others(tmp_path, make) -> None:
    write_record(tmp_path, RECORD)
    make(tmp_path / "star.jsonl")
    records, complaints = find_records(tmp_path)
    assert records == [RECORD]
    assert [sentence.split(": ")[0] for sentence in complaints] == [f"{tmp_path / 'star.jsonl'} was left out"]


def test_other_files_of_the_folder_are_nobodys_business(tmp_path) -> None:
    (tmp_path / "core.json").write_text("{}")
    (tmp_path / "notes.md").write_text("hello")
    assert find_records(tmp_path) == ([], [])


def test_an_unfinished_file_is_not_seen_and_removed_in_time(tmp_path) -> None:
    path = write_record(tmp_path, RECORD)
    young, old = (path.with_name(f".{path.name}.{i}.part") for i in range(2))
    for part in (young, old):
        part.write_text("{")
    os.utime(old, (time.time() - 7200,) * 2)
    assert open_results(tmp_path) == ([RECORD], [])
    assert young.exists()
    assert not old.exists()


def test_a_folder_of_another_version_is_not_added_to(tmp_path) -> None:
    write_record(tmp_path, replace(RECORD, format=2))
    with pytest.raises(OtherFormat, match="got format 2; use the version of genbayes that wrote it, or another folder"):
        open_results(tmp_path)


def test_a_folder_that_cannot_be_made_is_told(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableFile, match="results must be a folder that can be written"):
        open_results(tmp_path / "file")


def test_packing_keeps_what_was_packed_before_and_leaves_other_problems_alone(tmp_path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    before = [LATER, replace(RECORD, replicate=9), replace(RECORD, problem="star")]
    _, star = pack_records(before, target)
    written = star.stat().st_mtime_ns
    write_record(source, RECORD)
    pack_records(merge_results(source, target)[0], target)
    assert star.stat().st_mtime_ns == written
    assert read_records(target) == before


@pytest.mark.parametrize("is_same_folder", [True, False])
def test_packing_refuses_to_lose_a_line_that_it_cannot_read(tmp_path, is_same_folder) -> None:
    target = tmp_path / "target"
    source = target if is_same_folder else tmp_path / "source"
    write_record(source, RECORD)
    (path,) = pack_records([replace(RECORD, replicate=9)], target)
    before = path.read_text() + TEXT[:50]
    path.write_text(before)
    with pytest.raises(InvalidInput, match=r"line 2 of .*bgp2.jsonl was left out: .*; packing would lose it, so mend"):
        merge_results(source, target)
    assert path.read_text() == before


@pytest.mark.parametrize(("name", "rule"), [("nowhere", "must be a folder of records"), (".", "must hold records")])
def test_packing_nothing_is_refused(tmp_path, name, rule) -> None:
    with pytest.raises(InvalidInput, match=rule):
        merge_results(tmp_path / name, tmp_path)


def test_reading_records_and_listing_problems_loads_no_torch() -> None:
    listing = "import genbayes_bench as b, genbayes.cli.main; b.read_records, b.PROBLEMS, b.METHODS"
    code = f"import sys; {listing}; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"
