"""Starting the server of the review page, and of the audit's."""

from __future__ import annotations

import os
import secrets
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from truelabel.review.decisions import Decisions
from truelabel.review.names import reviewer_name

if TYPE_CHECKING:
    from truelabel.labels.audit import Audit
    from truelabel.labels.examined import Examined
    from truelabel.labels.items import Items
    from truelabel.review.guard import Guard


def serve(
    examined: Examined,
    decisions_path: str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    threshold: float | None = None,
    most: int | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    browser: bool = True,
    device: str = "auto",
    reviewer: str = "",
    ready: Callable[[str], None] = print,
) -> None:
    """Show a page on which a person goes through the suspicious labels, until the program is interrupted.

    Parameters
    ----------
    examined : Examined
        Labels, and what was found about them.
    decisions_path : path
        An SQLite file that every decision goes to at once; it is made if need be, and gone on with if it is there.
        `Decisions` reads it, also while the page is open.
    folder : path, optional
        The folder that `examined` was read from, if it was: when the person applies decisions to the calibrator, what
        it then finds, and the calibrator, are written to it.
    threshold : float, optional
        The least p_wrong of a suspect. By default a label is one if another class is more probable. Where there is no
        suspect, the page shows the fifty labels with the largest p_wrong.
    most : int, optional
        How many suspects, the most suspicious first; all by default.
    host : str, default "127.0.0.1"
        Where to listen. By default nobody but this machine can reach the page.
    port : int, default 0
        Which port to listen on; 0 takes a free one.
    browser : bool, default True
        Whether to open the page in a browser.
    device : str, default "auto"
        Where to learn from decisions; see `NPC`.
    reviewer : str, optional
        The name of the person at this machine, which is kept with each decision; people at other machines give theirs
        on the page.
    ready : callable
        Is told the page's address when it can be opened; prints it by default. The address holds a new secret each
        time, without which the server tells nothing.
    """
    with _needed():
        from truelabel.review.server import Review, application
    with Decisions.of(examined, decisions_path) as decisions:
        review = Review(
            examined,
            decisions,
            folder=folder,
            threshold=threshold,
            most=most,
            device=device,
            reviewer=reviewer_name(reviewer),
        )

        def made(token: str) -> Guard:
            threading.Thread(target=review.warm_up, daemon=True).start()
            return application(review, token, host)

        try:
            _run(made, host=host, port=port, browser=browser, ready=ready)
        finally:
            review.learning.stop()


def serve_audit(
    audit: Audit,
    items: Items,
    path: str | os.PathLike[str],
    command: str,
    *,
    fixed: Collection[int] = (),
    host: str = "127.0.0.1",
    port: int = 0,
    browser: bool = True,
    ready: Callable[[str], None] = print,
) -> None:
    """Show a page on which a person answers an audit, until the program is interrupted.

    Parameters
    ----------
    audit : Audit
        What to answer; it has the answers afterwards.
    items : Items
        The instances.
    path : path
        The file of the audit, which is written anew with every answer, before the next instance shows.
    command : str
        What to type next, as the page shows it beside the verdict.
    fixed : collection of int
        Instances whose answers the page does not undo.
    host, port, browser, ready
        See `serve`.
    """
    with _needed():
        from truelabel.review.audit_page import AuditPage
        from truelabel.review.audit_server import application
    page = AuditPage(audit, items, Path(path), fixed)
    _run(lambda token: application(page, command, token, host), host=host, port=port, browser=browser, ready=ready)


@contextmanager
def _needed() -> Iterator[None]:
    """Say what to install where a page's server cannot be imported."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"The review page needs {error.name or 'FastAPI'}; install it with pip install 'truelabel[review]'."
        ) from None


def _run(made: Callable[[str], Guard], *, host: str, port: int, browser: bool, ready: Callable[[str], None]) -> None:
    """Serve what is made for a new secret, until the program is interrupted."""
    with _needed():
        import uvicorn

        from truelabel.review.limits import BoundedProtocol
    with _listen(host, port) as listening:
        token = secrets.token_urlsafe(24)
        shown = host if host not in ("0.0.0.0", "::") else "localhost"
        shown = f"[{shown}]" if ":" in shown else shown
        address = f"http://{shown}:{listening.getsockname()[1]}/{token}/"
        app = made(token)
        ready(address)
        if browser:
            import webbrowser

            webbrowser.open(address)
        settings = uvicorn.Config(
            app,
            http=BoundedProtocol,
            log_level="error",  # a stranger may send as many requests that make no sense as he likes
            access_log=False,
            lifespan="off",
            server_header=False,
            ws="none",
        )
        uvicorn.Server(settings).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that takes connections, or say why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise OSError(
            f"Cannot listen on {host}, port {port} ({error.strerror or error}); choose another with --port, or 0 for "
            "any free one."
        ) from None
    return listening
