"""Drawing by a seed where torch has only one generator for the whole process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.RLock()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let torch's global generator begin at `seed`, and give it back as it was.

    New layers, dropout and some samplers draw from that generator, whichever thread asks. So threads take turns: each
    draws what it would draw alone, and nobody's generator is altered afterwards.
    """
    import torch

    with _LOCK, torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
