"""Where cells run: in this process, in several, or on a Ray cluster. One contract for all."""

from __future__ import annotations

from typing import Any

from truelabel.lab.engines.base import Engine as Engine
from truelabel.lab.engines.base import Job as Job

NAMES: dict[str, str] = {
    "local": "one cell after another in this process",
    "processes": "a pool of processes on this machine",
    "ray": "a Ray cluster, or this machine as one",
}


def build(name: str, *, workers: int | None = None, address: str | None = None) -> Engine:
    """Return an engine by its name.

    Parameters
    ----------
    name : {"local", "processes", "ray"}
        Which.
    workers : int, optional
        Cells at a time; by default as many as there are processors (for Ray, as the cluster has room for).
    address : str, optional
        Of a Ray cluster that is running; by default one is started on this machine.
    """
    if name not in NAMES:
        raise ValueError(f"There is no engine named {name!r}; choose one of {', '.join(NAMES)}.")
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, but is {workers}.")
    if address is not None and name != "ray":
        raise ValueError(f"An address is for the engine ray, not for {name}; leave it out.")
    options: dict[str, Any] = {"workers": workers}
    if name == "local":
        from truelabel.lab.engines.local import Local

        return Local(**options)
    if name == "processes":
        from truelabel.lab.engines.processes import Processes

        return Processes(**options)
    from truelabel.lab.engines.on_ray import OnRay

    return OnRay(**options, address=address)
