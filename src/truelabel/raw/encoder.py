"""Pretrained encoders, through the transformers library: from this machine, or downloaded where that is possible."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, Literal

import numpy as np

from truelabel.arrays import Floats, row_blocks
from truelabel.datasets.images import MEAN, STD
from truelabel.progress import Progress
from truelabel.raw.instances import Settings

Kind = Literal["image", "text"]
DEFAULTS: dict[Kind, str] = {
    "image": "facebook/dinov2-small",
    "text": "sentence-transformers/all-MiniLM-L6-v2",
}
PATIENCE = 3.0  # seconds that a server has to answer
BATCH = 32
LONGEST = 256  # tokens of a text that are read


class NoEncoderError(ValueError):
    """No encoder can be had, and why."""


@dataclass(frozen=True)
class Encoder:
    """A pretrained network, and how what it reads is prepared.

    Attributes
    ----------
    name : str
        Its name on the Hugging Face hub, or its folder.
    model : torch.nn.Module
        The network, ready to be asked.
    prepare : callable
        Makes the network's arguments out of a list of images or texts.
    pool : callable
        Makes a row an instance out of what the network gave and its arguments.
    """

    name: str
    model: Any
    prepare: Callable[[Sequence[Any]], dict[str, Any]]
    pool: Callable[[Any, dict[str, Any]], Any]

    def encode(self, n: int, read: Callable[[slice], Iterable[Any]], progress: Progress) -> Floats:
        """Return an embedding a row for n instances; `read` returns those of a slice."""
        import torch

        device = next(self.model.parameters()).device
        parts = []
        with torch.inference_mode():
            for rows in progress.track(list(row_blocks(n, BATCH)), f"Embedding by {self.name}"):
                given = {name: part.to(device) for name, part in self.prepare(list(read(rows))).items()}
                parts.append(self.pool(self.model(**given), given).float().cpu().numpy())
        return np.concatenate(parts).astype(np.float32, copy=False)


def chosen(kind: Kind, settings: Settings, instead: str) -> Encoder | None:
    """Return the encoder that was asked for; an "auto" one may be missing, and what is used instead is said."""
    if settings.encoder == "none":
        return None
    try:
        return find(settings.encoder, kind, settings.device)
    except NoEncoderError as error:
        if settings.encoder != "auto":
            raise ValueError(f"{error}; choose another encoder, or none.") from None
        settings.tell(f"No pretrained encoder: {error}. Using {instead} instead, which finds less.")
        return None


def find(name: str, kind: Kind, device: str) -> Encoder:
    """Return an encoder by its name, or the default one for "auto"; say why there is none with a NoEncoderError.

    Weights that are on this machine are used without asking anyone. Otherwise the hub has a few seconds to answer.
    Only weights in the safetensors format are read, and no code of a model's is run.
    """
    chosen = DEFAULTS[kind] if name == "auto" else name
    try:
        import transformers
    except ImportError:
        raise NoEncoderError("transformers is not installed; pip install 'truelabel[embed]'") from None
    _quiet(transformers)
    local = Path(chosen).is_dir()
    try:
        return _load(chosen, kind, device, stay=True)
    except (OSError, ValueError) as error:
        if local:
            raise NoEncoderError(f"the folder {chosen} holds no encoder for this ({_first_line(error)})") from None
    if not reachable(chosen):
        raise NoEncoderError(f"the weights of {chosen} are not on this machine, and the hub cannot be reached")
    try:
        return _load(chosen, kind, device, stay=False)
    except (OSError, ValueError) as error:
        raise NoEncoderError(f"{chosen} cannot be loaded ({_first_line(error)})") from None


def reachable(name: str) -> bool:
    """Return whether the hub answers within a few seconds; looking up its address may take no longer either."""
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        return False
    address = f"{os.environ.get('HF_ENDPOINT', 'https://huggingface.co').rstrip('/')}/{name}/resolve/main/config.json"
    answered: list[bool] = []
    asking = Thread(target=lambda: answered.append(_answers(address)), daemon=True)
    asking.start()
    asking.join(PATIENCE + 1)
    return answered == [True]


def _answers(address: str) -> bool:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    if not address.startswith(("http://", "https://")):
        return False
    try:
        with urlopen(Request(address, method="HEAD"), timeout=PATIENCE):
            return True
    except HTTPError as error:
        return error.code < 500  # it is there; loading says what is amiss with the name
    except (OSError, HTTPException, ValueError):
        return False


def _quiet(transformers: Any) -> None:
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def _load(name: str, kind: Kind, device: str, *, stay: bool) -> Encoder:
    import transformers

    from truelabel import device as devices

    settings = {"local_files_only": stay, "trust_remote_code": False}
    model: Any = transformers.AutoModel.from_pretrained(name, use_safetensors=True, **settings)
    model = _part(model, kind).to(devices.resolve(device)).eval()
    if kind == "text":
        reader: Any = transformers.AutoTokenizer.from_pretrained(name, **settings)
        if reader.pad_token is None:
            reader.pad_token = reader.eos_token
        longest = min(LONGEST, getattr(model.config, "max_position_embeddings", LONGEST))
        return Encoder(name, model, lambda texts: _tokens(reader, texts, longest), _mean_of_words)
    shape = _shape(name, model, stay)
    return Encoder(name, model, lambda images: _pixels(images, shape), _of_image)


def _part(model: Any, kind: Kind) -> Any:
    """Return the part of a network that reads this kind of thing."""
    part = {"image": "vision_model", "text": "text_model"}[kind]
    if hasattr(model, part):
        return getattr(model, part)
    return model.get_encoder() if getattr(model.config, "is_encoder_decoder", False) else model


def _tokens(reader: Any, texts: Sequence[str], longest: int) -> dict[str, Any]:
    given = reader(list(texts), padding=True, truncation=True, max_length=longest, return_tensors="pt")
    return {name: given[name] for name in ("input_ids", "attention_mask", "token_type_ids") if name in given}


def _mean_of_words(out: Any, given: dict[str, Any]) -> Any:
    mask = given["attention_mask"][..., None].to(out.last_hidden_state.dtype)
    return (out.last_hidden_state * mask).sum(1) / mask.sum(1).clamp(min=1)


def _of_image(out: Any, given: dict[str, Any]) -> Any:
    """Return the first token of a transformer, the mean over a convolutional network's map."""
    hidden = out.last_hidden_state
    if hidden.ndim == 4:
        return hidden.mean((2, 3))
    if getattr(out, "pooler_output", None) is not None and out.pooler_output.ndim == 2:
        return out.pooler_output
    return hidden[:, 0]


@dataclass(frozen=True)
class _Shape:
    resized: int
    cropped: int
    mean: Floats
    std: Floats


def _shape(name: str, model: Any, stay: bool) -> _Shape:
    """Return how images are prepared for a network, as the file beside its weights says."""
    from transformers.utils.hub import cached_file

    found = cached_file(
        name,
        "preprocessor_config.json",
        local_files_only=stay,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
    )
    said: dict[str, Any] = json.loads(Path(found).read_text(encoding="utf-8")) if found else {}
    own = getattr(model.config, "image_size", 224)
    own = own if isinstance(own, int) else int(own[0])
    resized = _length(said.get("size"), own)
    cropped = _length(said.get("crop_size"), resized) if said.get("do_center_crop") else resized
    mean, std = (np.array(said.get(f"image_{key}", usual), np.float32) for key, usual in (("mean", MEAN), ("std", STD)))
    return _Shape(resized, min(cropped, resized), mean, std)


def _length(said: Any, usual: int) -> int:
    if isinstance(said, dict):
        said = said.get("shortest_edge", said.get("height"))
    return int(said) if isinstance(said, int | float) else usual


def _pixels(images: Sequence[Any], shape: _Shape) -> dict[str, Any]:
    """Bring images to the size a network reads: the shorter side resized, the middle taken, colours normalised."""
    import torch
    from PIL import Image

    out = np.empty((len(images), 3, shape.cropped, shape.cropped), dtype=np.float32)
    for row, image in enumerate(images):
        scale = shape.resized / min(image.size)
        width, height = (max(shape.resized, round(length * scale)) for length in image.size)
        left, top = (width - shape.cropped) // 2, (height - shape.cropped) // 2
        middle = image.resize((width, height), Image.Resampling.BICUBIC).crop(
            (left, top, left + shape.cropped, top + shape.cropped)
        )
        out[row] = ((np.asarray(middle, dtype=np.float32) / 255 - shape.mean) / shape.std).transpose(2, 0, 1)
    return {"pixel_values": torch.from_numpy(out)}
