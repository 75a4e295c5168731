"""Drawing by a seed where torch has only one generator for the whole process."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.RLock()


def _renew_lock() -> None:
    global _LOCK
    _LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)  # the thread that has it is not in a child process


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let torch's global generator begin at `seed`, and give it back as it was.

    New layers, dropout and some samplers draw from that generator, whichever thread asks. So threads take turns: each
    draws what it would draw alone, and nobody's generator is altered afterwards. One thread may nest them. Only what
    draws from the global generator without this, in another thread at the same time, is still in the way.
    """
    import torch

    with _LOCK, torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
