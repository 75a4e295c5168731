"""The review server under strangers: half-sent requests without a token, while a reader goes through suspects.

python benchmarks/flood.py --strangers 1100
"""

from __future__ import annotations

import argparse
import http.client
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

import truelabel as tl
from truelabel.labels import examine, examined

COMMAND = [sys.executable, "-c", "from truelabel.cli import main; main()", "review", "--no-browser"]


def folder_of(home: Path) -> Path:
    """Two thousand examined labels of two blobs."""
    rng = np.random.default_rng(0)
    truth = np.arange(2000) % 2
    noisy = np.where(rng.random(2000) < 0.2, 1 - truth, truth)
    features = rng.normal(size=(2000, 8)) + 4 * truth[:, None]
    said = tl.Predictions(0.9 * np.eye(2)[noisy] + 0.05, features, labels=noisy)
    return examined(said, examine(said, progress=False)).write(home / "examined")


def asked(address: str, seconds: float) -> list[float]:
    """Return how long each request of one reader took, in milliseconds."""
    parts, taken = urlsplit(address), []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        connection.request("GET", f"{parts.path}item/{len(taken) % 2000}")
        answer = connection.getresponse()
        answer.read()
        connection.close()
        assert answer.status == 200, answer.status
        taken.append(1000 * (time.perf_counter() - began))
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strangers", type=int, default=1100)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, given.strangers + 200), hard))
    with tempfile.TemporaryDirectory() as home:
        folder, log = folder_of(Path(home)), Path(home) / "log"
        with log.open("w") as file:
            server = subprocess.Popen([*COMMAND, str(folder)], stdout=subprocess.PIPE, stderr=file, text=True)
        assert server.stdout is not None
        address = server.stdout.readline().removeprefix("Review: ").strip()
        parts = urlsplit(address)
        asked(address, 2)
        alone = asked(address, given.seconds / 4)
        strangers = []
        for _ in range(given.strangers):
            stranger = socket.create_connection((parts.hostname, parts.port), timeout=30)
            stranger.sendall(b"POST /decide HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\nX: ")
            strangers.append(stranger)
        beset = asked(address, given.seconds)
        for stranger in strangers:
            stranger.close()
        memory = Path(f"/proc/{server.pid}/status").read_text().partition("VmHWM:")[2].split()[0]
        server.send_signal(signal.SIGINT)
        server.communicate()
        for name, taken in (("alone", alone), (f"{given.strangers:,} strangers", beset)):
            p50, p99 = np.percentile(taken, (50, 99))
            print(f"{name:16} {len(taken):6,} requests, none failed; median {p50:.1f} ms, p99 {p99:.1f} ms")
        print(f"log: {log.stat().st_size:,} bytes; peak memory of the server: {int(memory) // 1024:,} MB")


if __name__ == "__main__":
    main()
