"""Bounds on connections, kept before a request is understood: nobody needs a token to be turned away."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 200  # at a time; a browser opens six, and a process may open some hundred files at least
PATIENCE = 10.0  # seconds that a request may take to arrive


class BoundedProtocol(H11Protocol):
    """HTTP on a connection that must say what it wants in time, and gives way when there are too many.

    Of too many the one goes first that has been silent for longest.
    """

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        waiting = _waiting(self.server_state)
        open_ones = sum(not other.transport.is_closing() for other in self.connections)
        if open_ones > MOST_CONNECTIONS:
            next(iter(waiting), self)._give_up()
        if not transport.is_closing():
            self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._answering():
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and not self._answering():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _answering(self) -> bool:
        """Return whether a whole request has arrived that is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body

    def _wait(self) -> None:
        self._stop_waiting()
        _waiting(self.server_state)[self] = self.loop.call_later(PATIENCE, self._give_up)

    def _stop_waiting(self) -> None:
        timer = _waiting(self.server_state).pop(self, None)
        if timer is not None:
            timer.cancel()

    def _give_up(self) -> None:
        self._stop_waiting()
        self.transport.abort()


def _waiting(state: Any) -> dict[BoundedProtocol, asyncio.TimerHandle]:
    if not hasattr(state, "waiting"):
        state.waiting = {}
    found: dict[BoundedProtocol, asyncio.TimerHandle] = state.waiting
    return found
