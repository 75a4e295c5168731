"""Who may talk to the review page: only those who know its token, on its own host, in small messages."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
EVERYWHERE = frozenset({"0.0.0.0", "::"})
LARGEST_BODY = 64 * 1024
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """Stands before an application and lets only its own page through.

    A request must name a host that the server is known by (or a page elsewhere could reach it through a DNS name of
    its own), come from the page itself where it says from where it comes, have the token as the first part of its
    path, and be small. The application sees the path without the token. Every answer forbids the browser to keep it,
    to frame it, or to load anything from elsewhere for it.

    Parameters
    ----------
    application : ASGI application
        What is guarded.
    token : str
        The secret in the page's address.
    host : str
        The host that the server listens on.
    """

    def __init__(self, application: Application, token: str, host: str = "127.0.0.1") -> None:
        self.application, self.token, self.host = application, token, host.lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        refused = self._refusal(scope)
        if refused is not None:
            await _answer(send, *refused)
            return
        _, _, path = scope["path"][1:].partition("/")
        if scope["path"] == f"/{self.token}":
            await _answer(send, 308, "", [(b"location", f"/{self.token}/".encode())])
            return
        body = await _body(scope, receive)
        if body is None:
            await _answer(send, 413, f"A request may hold {LARGEST_BODY:,} bytes at most.")
            return
        inner = {**scope, "path": f"/{path}", "raw_path": f"/{path}".encode(), "root_path": ""}
        await self.application(inner, _replay(body, receive), _with_headers(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return 403, "This server answers to its own address alone."
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return 403, "This server answers to its own page alone."
        given = scope["path"][1:].partition("/")[0]
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return 403, "Open the whole address that the terminal shows: the token in it is missing or wrong."
        return None

    def _is_ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        if name in LOOPBACK or name == self.host:
            return True
        return self.host in EVERYWHERE and name is not None and _is_address(name)


def _is_address(name: str) -> bool:
    """Return whether a host is named by number, which no foreign DNS name can be."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


async def _body(scope: Scope, receive: Receive) -> bytes | None:
    """Return what a request says, or None where it says more than it may."""
    said = _values(scope, b"content-length")
    if said and (not said[0].isdecimal() or int(said[0][:20]) > LARGEST_BODY):
        return None
    body, more = bytearray(), True
    while more:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            return None
        more = message.get("more_body", False)
    return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    pending = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return pending.pop() if pending else await receive()

    return replayed


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *RAW_HEADERS]}
        await send(message)

    return sent


async def _answer(send: Send, status: int, text: str, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    plain = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(text.encode())).encode())]
    start = {"type": "http.response.start", "status": status, "headers": plain + (headers or [])}
    await _with_headers(send)(start)
    await send({"type": "http.response.body", "body": text.encode()})
