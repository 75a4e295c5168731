"""Where datasets are kept, and how the files that are missing get there."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Remote:
    """A file to download: its name, its published checksum ("md5:…") and the folders on the web it is in."""

    name: str
    checksum: str
    homes: tuple[str, ...]


def data_root(root: str | os.PathLike[str] | None) -> Path:
    """Return the folder that datasets are kept in: `root`, $TRUELABEL_DATA or ~/.cache/truelabel."""
    chosen = root or os.environ.get("TRUELABEL_DATA") or Path.home() / ".cache" / "truelabel"
    return Path(chosen).expanduser()


def fetch(dataset: str, files: Sequence[Remote], folder: Path, download: bool) -> None:
    """Download `files` into `folder`, or say in one sentence what to put there by hand."""
    if not download:
        raise missing(dataset, files, folder, "it is not there, and download is off")
    for file in files:
        errors = [_retrieve(file, home, folder) for home in file.homes if not (folder / file.name).exists()]
        if not (folder / file.name).exists():
            raise missing(dataset, files, folder, f"downloading {file.name} failed: {errors[-1]}")


def fetch_archive(dataset: str, archive: Remote, folder: Path, download: bool) -> None:
    """Download a tar archive into `folder` unless it is there, check it and unpack it there."""
    path = folder / archive.name
    if not path.exists():
        fetch(dataset, [archive], folder, download)
    elif not _intact(path, archive.checksum):
        raise ValueError(f"{path} is damaged (its checksum differs); delete it to have it downloaded again.")
    # Unpacked aside and then moved, so that an interruption leaves no half of a dataset.
    with tempfile.TemporaryDirectory(dir=folder) as scratch, tarfile.open(path) as tar:
        tar.extractall(scratch, filter="data")
        for child in Path(scratch).iterdir():
            if (folder / child.name).exists():
                shutil.copytree(child, folder / child.name, dirs_exist_ok=True)
            else:
                child.rename(folder / child.name)


def missing(dataset: str, files: Sequence[Remote], folder: Path, why: str) -> FileNotFoundError:
    """Return the error that says which files to put where."""
    names = ", ".join(file.name for file in files)
    return FileNotFoundError(f"{dataset} cannot be loaded ({why}); put {names} from {files[0].homes[0]} into {folder}.")


def _intact(path: Path, checksum: str) -> bool:
    import pooch

    algorithm, _, wanted = checksum.partition(":")
    return bool(pooch.file_hash(path, alg=algorithm) == wanted)


def _retrieve(file: Remote, home: str, folder: Path) -> str:
    """Download one file and return what went wrong, if anything."""
    import pooch

    from truelabel.datasets.progress import Bar

    downloader = pooch.HTTPDownloader(progressbar=Bar(file.name), timeout=30)
    try:
        pooch.retrieve(home + file.name, known_hash=file.checksum, fname=file.name, path=folder, downloader=downloader)
    except (OSError, ValueError) as error:  # no connection, or a checksum that differs
        return str(error)
    return ""
