import threading
import time

import numpy as np
import pytest

from truelabel.lab.cache import Cache


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


def made(calls, value=1.0):
    def make():
        calls.append(value)
        return {"x": np.full(3, value)}, {"seconds": value}

    return make


def test_a_stage_is_made_once(cache):
    calls = []
    for _ in range(3):
        arrays, facts = cache.arrays("noise", "ab12", made(calls))
        assert arrays["x"].tolist() == [1.0] * 3
        assert facts == {"seconds": 1.0}
    assert calls == [1.0]


def test_another_key_or_stage_is_another_stage(cache):
    calls = []
    cache.arrays("noise", "ab12", made(calls, 1.0))
    assert cache.arrays("noise", "ab13", made(calls, 2.0))[1] == {"seconds": 2.0}
    assert cache.arrays("calibrated", "ab12", made(calls, 3.0))[1] == {"seconds": 3.0}


def test_workers_at_the_same_time_make_it_once(cache):
    calls, found = [], []

    def slow():
        time.sleep(0.2)
        return made(calls)()

    def work():
        found.append(cache.arrays("noise", "ab12", slow)[1])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1.0]
    assert found == [{"seconds": 1.0}] * 4


def test_a_damaged_file_is_made_again(cache):
    calls = []
    cache.arrays("noise", "ab12", made(calls))
    (file,) = cache.path.rglob("*.safetensors")
    file.write_bytes(file.read_bytes()[:-7])
    assert cache.arrays("noise", "ab12", made(calls))[0]["x"].tolist() == [1.0] * 3
    assert calls == [1.0, 1.0]


def test_what_fails_leaves_nothing_behind(cache):
    def fail(folder):
        (folder / "half").write_text("half")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        cache.folder("classifiers", "ab12", fail)
    assert [path.name for path in cache.path.rglob("*") if path.is_file()] == ["ab12.lock"]
    assert cache.folder("classifiers", "ab12", lambda folder: (folder / "x").write_text("whole")).is_dir()


def test_a_folder_is_made_once(cache):
    calls = []
    for _ in range(2):
        folder = cache.folder("classifiers", "ab12", lambda part: calls.append((part / "x").write_text("whole")))
        assert (folder / "x").read_text() == "whole"
    assert len(calls) == 1
