import json
import sys

import numpy as np
import pytest
import torch

import truelabel as tl
from truelabel.calibrators.npc.prior import VotePrior
from truelabel.networks import CNNTiny

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

RNG = np.random.default_rng(0)


def predictions(n):
    labels = RNG.integers(4, size=n)
    x = RNG.normal(size=(n, 6)) + labels[:, None]
    logits = 2 * RNG.normal(size=(n, 4)) + 3 * np.eye(4)[labels]
    images = RNG.normal(size=(n, 1, 6, 6)) + labels[:, None, None, None]
    return tl.Predictions(
        logits,
        {"a": x.astype(np.float32), "b": x[:, :2].astype(np.float32)},
        hidden=x[:, 1:].astype(np.float32),
        inputs=images.astype(np.float32),
        labels=labels,
        input="logits",
    )


def npc(recipe="default", **parameters):
    return tl.NPC(recipe, random_state=0, progress=False, **parameters)


def one_view(said):
    return said.replace(features=said.views["a"])


def same(said):
    return said


def network_mode():
    torch.manual_seed(0)
    return npc("paper", trunk=CNNTiny((1, 6, 6), 4))


CASES = {
    "default": (npc, one_view, ["features"]),
    "two views": (lambda: npc(prior=VotePrior()), same, ["a", "b"]),
    "paper, hidden layer": (lambda: npc("paper"), same, ["hidden"]),
    "paper, network": (network_mode, same, ["inputs"]),
}


@pytest.mark.parametrize(("make", "seen", "reads"), CASES.values(), ids=CASES)
def test_the_graph_equals_calibrate_at_every_batch_size(make, seen, reads, tmp_path):
    fitted = make().fit(seen(predictions(200)))
    if fitted.trunk is not None:  # a calibrator that was loaded can be exported too
        fitted.save(tmp_path / "npc.safetensors")
        fitted = tl.load(tmp_path / "npc.safetensors", trunk=fitted.trunk)
        (tmp_path / "npc.safetensors").unlink()
    path = tmp_path / "npc.onnx"
    fitted.export_onnx(path)
    assert [file.name for file in tmp_path.iterdir()] == ["npc.onnx"]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [part.name for part in session.get_inputs()] == [*reads, "probs"]
    assert [part.name for part in session.get_outputs()] == ["calibrated"]
    for n in (1, 7, 1000):
        said = seen(predictions(n))
        parts = {name: getattr(said, name) for name in reads if hasattr(said, name)} | said.views
        (out,) = session.run(None, {name: parts[name] for name in reads} | {"probs": said.probs})
        expected = fitted.calibrate(said)
        assert out.shape == (n, 4)
        np.testing.assert_allclose(out, expected, atol=1e-5)
    assert np.abs(expected - said.probs).max() > 0.05


def test_missing_packages_are_named(tmp_path, monkeypatch):
    fitted = npc("paper", epochs=1).fit(predictions(50))
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ImportError, match=r'install them with pip install "truelabel\[onnx\]"'):
        fitted.export_onnx(tmp_path / "npc.onnx")


def test_a_graph_names_classes_and_features(tmp_path):
    onnx = pytest.importorskip("onnx")
    rng = np.random.default_rng(0)
    truth = np.arange(90) % 3
    said = tl.Predictions(
        0.8 * np.eye(3)[truth] + 0.2 / 3,
        rng.normal(size=(90, 2)) + truth[:, None],
        labels=truth,
        class_names=["a", "b", "c"],
        feature_names=["x", "y"],
    )
    tl.NPC(random_state=0, epochs=1, progress=False).fit(said).export_onnx(tmp_path / "npc.onnx")
    about = {entry.key: entry.value for entry in onnx.load(tmp_path / "npc.onnx").metadata_props}
    assert json.loads(about["truelabel.class_names"]) == ["a", "b", "c"]
    assert json.loads(about["truelabel.feature_names"]) == {"features": ["x", "y"]}
