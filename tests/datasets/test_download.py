import hashlib
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from truelabel.datasets.download import Remote, data_root, fetch, fetch_archive
from truelabel.datasets.progress import Bar

NOWHERE = "http://127.0.0.1:9/"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture
def web(tmp_path, monkeypatch):
    """Serve a folder over HTTP."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = tmp_path / "web"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def md5(path):
    return f"md5:{hashlib.md5(path.read_bytes()).hexdigest()}"


def test_a_missing_file_is_downloaded_and_checked(web, tmp_path):
    folder, home = web
    (folder / "a.bin").write_bytes(b"data" * 1000)
    fetch("toy", [Remote("a.bin", md5(folder / "a.bin"), (home,))], tmp_path / "data", download=True)
    assert (tmp_path / "data" / "a.bin").read_bytes() == b"data" * 1000


def test_the_second_home_is_tried_when_the_first_fails(web, tmp_path):
    folder, home = web
    (folder / "a.bin").write_bytes(b"data")
    fetch("toy", [Remote("a.bin", md5(folder / "a.bin"), (NOWHERE, home))], tmp_path / "data", download=True)
    assert (tmp_path / "data" / "a.bin").exists()


def test_a_wrong_checksum_leaves_nothing_behind(web, tmp_path):
    folder, home = web
    (folder / "a.bin").write_bytes(b"something else")
    with pytest.raises(FileNotFoundError, match="hash"):
        fetch("toy", [Remote("a.bin", f"md5:{'0' * 32}", (home,))], tmp_path / "data", download=True)
    assert not list((tmp_path / "data").glob("*"))


def test_offline_says_what_to_put_where(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    files = [Remote(name, f"md5:{'0' * 32}", (NOWHERE,)) for name in ("a.bin", "b.bin")]
    with pytest.raises(FileNotFoundError) as error:
        fetch("toy", files, tmp_path / "data", download=True)
    assert f"put a.bin, b.bin from {NOWHERE} into {tmp_path / 'data'}." in str(error.value)
    assert "downloading a.bin failed" in str(error.value)


def test_an_archive_is_unpacked(web, tmp_path):
    folder, home = web
    (folder / "inner.txt").write_text("hello")
    with tarfile.open(folder / "toy.tar.gz", "w:gz") as tar:
        tar.add(folder / "inner.txt", "toy/inner.txt")
    archive = Remote("toy.tar.gz", md5(folder / "toy.tar.gz"), (home,))
    fetch_archive("toy", archive, tmp_path / "data", download=True)
    assert (tmp_path / "data" / "toy" / "inner.txt").read_text() == "hello"
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["toy", "toy.tar.gz"]


def test_an_archive_put_there_by_hand_is_checked_and_completes_what_is_there(tmp_path):
    (tmp_path / "toy").mkdir()
    (tmp_path / "inner.txt").write_text("hello")
    with tarfile.open(tmp_path / "toy.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "inner.txt", "toy/inner.txt")
    archive = Remote("toy.tar.gz", md5(tmp_path / "toy.tar.gz"), (NOWHERE,))
    fetch_archive("toy", archive, tmp_path, download=False)
    assert (tmp_path / "toy" / "inner.txt").exists()
    (tmp_path / "toy.tar.gz").write_bytes(b"half of it")
    with pytest.raises(ValueError, match="checksum differs"):
        fetch_archive("toy", archive, tmp_path, download=False)


def test_the_folder_is_root_then_the_environment_then_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TRUELABEL_DATA", raising=False)
    assert data_root(None) == tmp_path / ".cache" / "truelabel"
    monkeypatch.setenv("TRUELABEL_DATA", "~/elsewhere")
    assert data_root(None) == tmp_path / "elsewhere"
    assert data_root(tmp_path / "here") == tmp_path / "here"


def test_the_bar_counts_bytes():
    bar = Bar("a.bin")
    bar.total = 10
    bar.update(4)
    bar.update(6)
    assert bar._progress.tasks[0].percentage == 100
    bar.reset()
    assert bar._progress.tasks[0].completed == 0
    bar.close()
