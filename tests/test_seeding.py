"""Fits in several threads are what they are alone, and leave torch's generator as it was."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import truelabel as tl
from truelabel import calibrators
from truelabel.seeding import seeded


@pytest.fixture
def said() -> tl.Predictions:
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 3
    noisy = np.where(rng.random(300) < 0.3, (truth + 1) % 3, truth)
    x = rng.normal(size=(300, 4)) + np.eye(3, 4)[truth] * 2
    return tl.Predictions(0.8 * np.eye(3)[noisy] + 0.2 / 3, x, hidden=x[:, ::-1], labels=noisy)


@pytest.fixture(autouse=True)
def generators() -> Iterator[None]:
    """Check that the generators of torch and NumPy are as they were."""
    torch.manual_seed(123)
    before, old = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002
    yield
    assert torch.equal(torch.get_rng_state(), before)
    assert all(np.array_equal(a, b) for a, b in zip(np.random.get_state(), old, strict=True))  # noqa: NPY002


def in_threads(work: Callable[[int], np.ndarray]) -> None:
    """Require that four threads, of two seeds, get what they get alone."""
    alone = [work(0), work(1)]
    assert np.abs(alone[0] - alone[1]).max() > 0
    with ThreadPoolExecutor(4) as pool:
        for number, together in enumerate(pool.map(work, [0, 1, 0, 1])):
            np.testing.assert_array_equal(together, alone[number % 2])


FITS = {
    "npc": {"epochs": 1, "progress": False},
    "npc-paper": {"epochs": 1, "progress": False},
    "causalnl": {"epochs": 1, "batch_size": 32, "noise_rate": 0.3, "progress": False},
    "lrt": {"epochs": 2, "batch_size": 32, "progress": False},
}


@pytest.mark.parametrize("name", FITS)
def test_calibrators_in_threads_are_what_they_are_alone(name: str, said: tl.Predictions) -> None:
    in_threads(lambda seed: calibrators.build(name, random_state=seed, **FITS[name]).fit(said).calibrate(said))


@pytest.mark.parametrize("name", ["ce", "coteaching"])
def test_trainings_in_threads_are_what_they_are_alone(name: str, said: tl.Predictions) -> None:
    data = tl.datasets.arrays(said.views["features"], said.labels, said.views["features"], said.labels)

    def work(seed: int) -> np.ndarray:
        method = tl.methods.build(name, epochs=3, batch_size=32)
        return np.asarray(method.fit(data.train, "mlp", seed=seed, progress=False).predict_proba(data.test.inputs))

    in_threads(work)


def test_issues_in_threads_are_what_they_are_alone(said: tl.Predictions) -> None:
    in_threads(lambda seed: tl.labels.examine(said, random_state=seed, progress=False).probs)  # type: ignore[union-attr]


def test_an_error_leaves_the_generator_as_it_was_and_lets_others_go_on() -> None:
    with pytest.raises(RuntimeError), seeded(0):
        torch.rand(3).reshape(2)
    with seeded(1), seeded(2):
        inner = torch.rand(3)
    with ThreadPoolExecutor(1) as pool, seeded(0):
        waiting = pool.submit(lambda: _drawn(2))
        torch.rand(5)
        assert not waiting.done()
    assert torch.equal(waiting.result(), inner)


def _drawn(seed: int) -> torch.Tensor:
    with seeded(seed):
        return torch.rand(3)


FORK = """
import os, signal, threading
from truelabel.seeding import seeded
held, leave = threading.Event(), threading.Event()
def hold():
    with seeded(0):
        held.set()
        leave.wait()
threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    with seeded(1):
        os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
leave.set()
"""


@pytest.mark.skipif(not hasattr(sys, "getdlopenflags"), reason="needs fork")
def test_a_child_process_does_not_wait_for_a_thread_that_it_does_not_have() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "7", done.stderr
