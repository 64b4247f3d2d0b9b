"""What is shown while an image is read: lines on a terminal, plain lines for logs, and nothing into a pipe."""

import os
import pty
import re
import subprocess

import pytest

import bed
import made

STAND_IN = "a small image made by hand, with nothing in it that runs"


@pytest.fixture(autouse=True)
def say(say_stand_ins):
    say_stand_ins(STAND_IN)


@pytest.fixture(scope="module")
def layout():
    """Two large layers below one that keeps the contract."""
    with bed.temporary_folder() as folder:
        context = folder / "context"
        context.mkdir()
        made.make_worker(context, "3.11.9", "2.60.0")
        bed.run(["umoci", "init", "--layout", folder / "layout"])
        bed.run(["umoci", "new", "--image", f"{folder}/layout:1"])
        for number in range(2):
            (folder / "filler").write_bytes(os.urandom(12_000_000))
            bed.run(["umoci", "insert", "--rootless", "--image", f"{folder}/layout:1", folder / "filler", f"/f{number}"])
        bed.run(["umoci", "insert", "--rootless", "--image", f"{folder}/layout:1", context / "root", "/"])
        yield f"oci:{folder}/layout:1"


def on_a_terminal(binary, *arguments):
    """What a terminal of 80 columns gets on stderr."""
    leader, follower = pty.openpty()
    with subprocess.Popen([binary, *arguments], stdout=subprocess.DEVNULL, stderr=follower, stdin=subprocess.DEVNULL) as run:
        os.close(follower)
        shown = b""
        try:
            while piece := os.read(leader, 65536):
                shown += piece
        except OSError:  # the other side is closed
            pass
        finally:
            os.close(leader)
        run.wait(timeout=60)
    return shown.decode()


def test_lines_on_a_terminal_take_themselves_away(imgforge, layout):
    shown = on_a_terminal(imgforge.binary, "verify", "--no-cache", "--format", "json", layout)
    first = re.search(r"reading oci:[^\r\n]*: [0-9.]+ [KM]?B of [0-9.]+ MB", shown)
    assert first, shown
    line = re.search(r"\n  layer [123] of 3: [^\r\n]*, looking for every file", shown)
    assert line, shown
    assert all(len(re.sub(r"\x1b\[[0-9]*[A-Z]", "", line)) < 80 for line in re.split(r"[\r\n]+", shown)), shown
    drawn, _, last = shown.rpartition("\x1b[J")
    assert "reading" in drawn and "reading" not in last, "the last word takes the lines away"


def test_plain_lines_for_logs(imgforge, layout):
    told = imgforge("verify", "--no-cache", "--progress", "plain", "--format", "json", layout)
    lines = [line for line in told.err.splitlines() if line.startswith("imgforge: reading ")]
    assert "\x1b" not in told.err
    for number in (1, 2, 3):
        own = [line for line in lines if f": layer {number} of 3: " in line]
        assert 1 <= len(own) <= 2, lines
        assert all("looking for" in line for line in own), own
    by_path = imgforge("verify", "--no-cache", "--progress", "plain", "--select", "beam/boot-missing", "--depth", "contract",
                       "--format", "json", layout)
    assert re.search(r"layer 3 of 3: .*looking for /", by_path.err), by_path


def test_nothing_into_a_pipe(imgforge, layout):
    assert "reading" not in imgforge("verify", "--no-cache", "--format", "json", layout).err
    assert "reading" not in imgforge("verify", "--no-cache", "--progress", "none", "--format", "json", layout).err
