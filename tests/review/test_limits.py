"""Strangers who open connections and do not say what they want cannot keep the page from its reader."""

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn

from truelabel.review import limits
from truelabel.review.guard import Guard

HALF = b"GET /secret/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-More: "


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """A guarded page that a request has half a second to reach, over twenty connections at most."""
    monkeypatch.setattr(limits, "MOST_CONNECTIONS", 20)
    monkeypatch.setattr(limits, "PATIENCE", 0.5)
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        Guard(answer, "secret"), http=limits.BoundedProtocol, lifespan="off", log_level="error", ws="none"
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield SimpleNamespace(port=listening.getsockname()[1], connections=running.server_state.connections)
    running.should_exit = True
    thread.join(5)


def ask(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", "/secret/", headers={"Host": "127.0.0.1"})
    status = connection.getresponse().status
    connection.close()
    return status


def closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_hundred_half_requests_do_not_keep_a_whole_one_waiting(server: SimpleNamespace) -> None:
    strangers = [socket.create_connection(("127.0.0.1", server.port), timeout=5) for _ in range(100)]
    for stranger in strangers:
        stranger.sendall(HALF)
    began = time.perf_counter()
    for _ in range(5):
        assert ask(server.port) == 200
    assert time.perf_counter() - began < 3
    assert len(server.connections) <= 21
    assert sum(closed(stranger) for stranger in strangers[:50]) == 50  # the oldest gave way
    for stranger in strangers:
        stranger.close()


@pytest.mark.parametrize(
    "begun", [b"", HALF, b"POST /secret/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nab"]
)
def test_what_does_not_arrive_in_time_is_given_up(server: SimpleNamespace, begun: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as stranger:
        stranger.sendall(begun)
        began = time.perf_counter()
        assert closed(stranger)
        assert 0.2 < time.perf_counter() - began < 3
    assert ask(server.port) == 200


def test_an_answer_may_take_longer_than_a_request(server: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as reader:
        for _ in range(3):  # one connection for several requests
            reader.sendall(b"GET /secret/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            told = b""
            while not told.endswith(b"ok"):
                told += reader.recv(4096)
            assert told.startswith(b"HTTP/1.1 200 OK")
            time.sleep(0.3)
