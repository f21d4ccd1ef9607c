import subprocess
import time
from pathlib import Path

import pytest

from genbayes import GenBayesError
from genbayes_bench.rivals.r_bridge import RFailed, RMissing, RTimedOut, Spoken, run_script

SLEEP_WITH_A_WORKER = """
import subprocess
worker = subprocess.Popen(["sleep", "30"])
with open(os.path.join(seen, "started"), "w") as file:
    file.write(f"{os.getpid()} {worker.pid}")
os.replace(os.path.join(seen, "started"), os.path.join(seen, "pids"))
time.sleep(30)
"""


def is_running(pid: int) -> bool:
    """Whether a process still does something; one that has ended may wait to be collected (Z)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def all_ended(pids: str) -> bool:
    for _ in range(50):
        if not any(is_running(int(pid)) for pid in pids.split()):
            return True
        time.sleep(0.02)
    return False


def test_without_r_the_error_says_what_to_install(no_r, tmp_path: Path) -> None:
    sentence = (
        r"^Rscript must be on the PATH for genbayes_bench\.rivals\.r, got none; "
        r"install R and the packages hetGP, deepgp, laGP$"
    )
    with pytest.raises(RMissing, match=sentence) as caught:
        run_script("packages.R", [], tmp_path, 10)
    assert isinstance(caught.value, GenBayesError)
    assert isinstance(caught.value, ImportError)


def test_a_script_gets_its_words_as_they_are(fake_r, tmp_path: Path) -> None:
    words = ["a b", "$(touch x)", "`id`", "; quit()", "'\""]
    seen = fake_r("")
    assert run_script("packages.R", words, tmp_path, 10).code == 0
    assert seen.call["arguments"] == words
    assert Path(seen.call["script"]).name == "packages.R"
    assert Path(seen.call["folder"]) == tmp_path


def test_start_up_files_are_not_read_but_libraries_are_found(fake_r, tmp_path: Path) -> None:
    seen = fake_r("")
    run_script("packages.R", [], tmp_path, 10)
    assert {"--no-init-file", "--no-site-file", "--no-restore"} <= set(seen.call["options"])
    assert "--no-environ" not in seen.call["options"]
    assert "--vanilla" not in seen.call["options"]


def test_output_messages_and_exit_code_come_back(fake_r, tmp_path: Path) -> None:
    fake_r("print('out'); print('caution', file=sys.stderr); sys.exit(7)")
    assert run_script("packages.R", [], tmp_path, 10) == Spoken(7, "out\n", "caution\n")


def test_messages_in_another_encoding_are_no_trouble(fake_r, tmp_path: Path) -> None:
    fake_r("sys.stderr.buffer.write(b'caf\\xe9')")
    assert run_script("packages.R", [], tmp_path, 10).messages == "caf\ufffd"


def test_r_speaks_english_and_cannot_ask(fake_r, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGUAGE", "fr")
    fake_r("print(os.environ['LANGUAGE'], repr(sys.stdin.read()))")
    assert run_script("packages.R", [], tmp_path, 10).output == "en ''\n"


@pytest.mark.parametrize(
    ("messages", "last"),
    [
        ("Warning: a\nsingular matrix\n", "singular matrix"),
        ("Error: bad\n  \nExecution halted\n", "Error: bad"),
        ("Execution halted\n", "no message"),
        ("", "no message"),
    ],
)
def test_the_last_telling_line_is_shown(messages: str, last: str) -> None:
    assert Spoken(1, "", messages).last_message() == last


def test_a_program_that_cannot_start_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "Rscript"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RFailed, match=r"Rscript must start, got No such file or directory from '.*Rscript'"):
        run_script("packages.R", [], tmp_path, 10)


def test_time_is_limited(fake_r, tmp_path: Path) -> None:
    fake_r("time.sleep(30)")
    started = time.perf_counter()
    with pytest.raises(RTimedOut, match="timeout must leave R time to finish, got 0.2 seconds; raise it") as caught:
        run_script("packages.R", [], tmp_path, 0.2)
    assert time.perf_counter() - started < 20
    assert isinstance(caught.value, TimeoutError)


@pytest.mark.parametrize("reason", [KeyboardInterrupt("stop"), subprocess.TimeoutExpired("stop", 30)])
def test_r_and_its_workers_are_ended(fake_r, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason) -> None:
    seen = fake_r(SLEEP_WITH_A_WORKER)

    def interrupt(process: subprocess.Popen, timeout: float) -> None:
        for _ in range(500):
            if (seen.folder / "pids").exists():
                raise reason
            time.sleep(0.02)

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupt)
    with pytest.raises((KeyboardInterrupt, RTimedOut), match=r"stop|got 30 seconds"):
        run_script("packages.R", [], tmp_path, 30)
    assert all_ended(seen.text("pids"))
