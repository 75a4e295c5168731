"""Pretrained encoders: found, missing, and never waited for."""

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from truelabel.progress import Progress
from truelabel.raw import encoder
from truelabel.raw.instances import Settings


def settings(name: str, told: list[str]) -> Settings:
    return Settings(name, 0, "cpu", Progress(False), told.append)


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)


@pytest.mark.usefixtures("absent")
def test_without_transformers_auto_says_so_and_a_name_is_refused() -> None:
    told: list[str] = []
    assert encoder.chosen("text", settings("auto", told), "words") is None
    assert told == [
        "No pretrained encoder: transformers is not installed; pip install 'truelabel[embed]'. "
        "Using words instead, which finds less."
    ]
    with pytest.raises(ValueError, match="transformers is not installed"):
        encoder.chosen("text", settings("some/encoder", told), "words")
    assert encoder.chosen("image", settings("none", told), "pixels") is None
    assert len(told) == 1


class Answer(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    server = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(("status", "there"), [(200, True), (404, True), (503, False)])
def test_the_hub_is_there_if_it_answers(hub: HTTPServer, status: int, there: bool) -> None:
    hub.status = status  # type: ignore[attr-defined]
    assert encoder.reachable("some/encoder") is there


def test_the_hub_is_not_asked_offline(hub: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.status = 200  # type: ignore[attr-defined]
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert not encoder.reachable("some/encoder")


def test_a_hub_that_never_answers_is_not_waited_for(hub: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        began = time.perf_counter()
        assert not encoder.reachable("some/encoder")
        assert time.perf_counter() - began < 2
    assert not encoder.reachable("some/encoder")  # nobody listens there any more


def test_a_name_that_cannot_be_looked_up_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(encoder, "PATIENCE", -0.8)
    monkeypatch.setattr(encoder, "_answers", lambda _: time.sleep(5))
    began = time.perf_counter()
    assert not encoder.reachable("some/encoder")
    assert time.perf_counter() - began < 2


def test_images_are_prepared_as_the_network_wants_them() -> None:
    wide = Image.new("RGB", (40, 20), (255, 0, 0))
    wide.paste((0, 255, 0), (10, 0, 30, 20))
    shape = encoder._Shape(10, 8, np.array([0.5, 0, 0], np.float32), np.array([0.5, 1, 1], np.float32))
    (pixels,) = encoder._pixels([wide], shape)["pixel_values"].numpy()
    assert pixels.shape == (3, 8, 8)
    np.testing.assert_allclose(pixels[:, 4, 4], [-1, 1, 0], atol=0.02)


def test_embeddings_are_pooled_over_what_is_there() -> None:
    hidden = torch.arange(12.0).reshape(1, 3, 4)
    words = encoder._mean_of_words(
        SimpleNamespace(last_hidden_state=hidden), {"attention_mask": torch.tensor([[1, 1, 0]])}
    )
    np.testing.assert_allclose(words, [[2, 3, 4, 5]])
    token = encoder._of_image(SimpleNamespace(last_hidden_state=hidden), {})
    np.testing.assert_allclose(token, [[0, 1, 2, 3]])
    mapped = encoder._of_image(SimpleNamespace(last_hidden_state=torch.ones(2, 5, 3, 3)), {})
    np.testing.assert_allclose(mapped, np.ones((2, 5)))


@pytest.fixture
def networks(tmp_path: Path) -> Path:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    transformers.Dinov2Model(transformers.Dinov2Config(**small, image_size=28)).save_pretrained(tmp_path / "image")
    prepared = {"size": {"shortest_edge": 32}, "crop_size": {"height": 28, "width": 28}, "do_center_crop": True}
    (tmp_path / "image" / "preprocessor_config.json").write_text(json.dumps(prepared))
    config = transformers.BertConfig(**small, vocab_size=40, intermediate_size=16)
    transformers.BertModel(config).save_pretrained(tmp_path / "text")
    letters = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]
    (tmp_path / "text" / "vocab.txt").write_text("\n".join(letters))
    (tmp_path / "text" / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    return tmp_path


def test_encoders_in_a_folder_embed_images_and_texts(networks: Path) -> None:
    images = [Image.new("RGB", (40, 50), (k, 0, 0)) for k in (0, 255, 0)]
    texts = ["a b", "c d e f g", "a b"]
    with Progress(False) as progress:
        for kind, things in (("image", images), ("text", texts)):
            found = encoder.find(str(networks / kind), kind, "cpu")  # type: ignore[arg-type]
            rows = found.encode(3, lambda part, things=things: things[part], progress)
            assert rows.shape == (3, 16)
            np.testing.assert_allclose(rows[0], rows[2], atol=1e-5)
            assert np.abs(rows[0] - rows[1]).max() > 1e-3
    with pytest.raises(encoder.NoEncoderError, match="holds no encoder for this"):
        encoder.find(str(networks), "text", "cpu")
