"""One program at a time may change a file."""

import subprocess
import sys
from pathlib import Path

import pytest

from truelabel.review.alone import alone

HOLD = """
import sys
from pathlib import Path
from truelabel.review.alone import alone
with alone(Path(sys.argv[1])) as mine:
    print(mine, flush=True)
    sys.stdin.read()
"""


def test_who_comes_second_is_told_so_until_the_first_has_left(tmp_path: Path) -> None:
    with alone(tmp_path / "a") as mine:
        assert mine
        with alone(tmp_path / "a") as second, alone(tmp_path / "b") as elsewhere:
            assert not second
            assert elsewhere
    with alone(tmp_path / "a") as again:
        assert again


def test_a_process_that_is_killed_holds_nothing(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HOLD, str(tmp_path / "a")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        with alone(tmp_path / "a") as mine:
            assert not mine
        other.kill()
        other.wait()
    with alone(tmp_path / "a") as mine:
        assert mine
    assert [entry.name for entry in tmp_path.iterdir()] == [".a.lock"]


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"nowhere.\.a\.lock cannot be locked"), alone(tmp_path / "nowhere" / "a"):
        pass
