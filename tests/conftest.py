"""Settings and fixtures that tests share."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import torch

# Two threads that fight over busy cores are far slower than one, and one makes runs repeatable.
torch.set_num_threads(1)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium, as the machine has it; closed before another module, which may run an event loop itself."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as play:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        chromium = play.chromium.launch(executable_path=path, args=flags)
        yield chromium
        chromium.close()
