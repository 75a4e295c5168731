import re

import pytest
import torch
from safetensors.torch import save_file

from truelabel.networks import MLP, ResNet34, ResNet50, load_imagenet_weights


def torchvision_names(network):
    return {name.replace("head.", "fc."): value.contiguous().clone() for name, value in network.state_dict().items()}


def transformers_name(name):
    """From our names to those of transformers' ResNetForImageClassification."""
    if name.startswith("head."):
        return name.replace("head.", "classifier.1.")
    name = re.sub(r"^conv1\.", "embedder.embedder.convolution.", name)
    name = re.sub(r"^bn1\.", "embedder.embedder.normalization.", name)
    found = re.match(r"layer(\d)\.(\d+)\.(.*)", name)
    if found:
        rest = found[3].replace("downsample.0.", "shortcut.convolution.")
        rest = rest.replace("downsample.1.", "shortcut.normalization.")
        rest = re.sub(r"conv(\d)\.", lambda m: f"layer.{int(m[1]) - 1}.convolution.", rest)
        rest = re.sub(r"bn(\d)\.", lambda m: f"layer.{int(m[1]) - 1}.normalization.", rest)
        name = f"encoder.stages.{int(found[1]) - 1}.layers.{found[2]}.{rest}"
    return f"resnet.{name}"


def same(a, b, but=()):
    theirs = b.state_dict()
    return all(torch.equal(value, theirs[name]) for name, value in a.state_dict().items() if name not in but)


@pytest.fixture(scope="module")
def source():
    torch.manual_seed(1)
    return ResNet34(n_classes=7)


def test_torchvision_weights_load(source, tmp_path):
    save_file(torchvision_names(source), tmp_path / "w.safetensors")
    network = ResNet34(n_classes=7)
    assert load_imagenet_weights(network, tmp_path / "w.safetensors") is network
    assert same(network, source)


def test_transformers_weights_load(tmp_path):
    source = ResNet50(n_classes=3)
    weights = {transformers_name(name): value for name, value in source.state_dict().items()}
    assert "resnet.encoder.stages.3.layers.0.shortcut.convolution.weight" in weights
    assert "resnet.encoder.stages.0.layers.2.layer.2.normalization.running_mean" in weights
    save_file(weights, tmp_path / "w.safetensors")
    assert same(load_imagenet_weights(ResNet50(n_classes=3), tmp_path / "w.safetensors"), source)


def test_the_head_stays_when_the_classes_differ(source, tmp_path):
    save_file(torchvision_names(source), tmp_path / "w.safetensors")
    network = ResNet34(n_classes=4)
    head = network.head.weight.clone()
    load_imagenet_weights(network, tmp_path / "w.safetensors")
    assert torch.equal(network.head.weight, head)
    assert same(network, source, but=("head.weight", "head.bias"))


def test_what_does_not_fit_is_refused(source, tmp_path):
    path = tmp_path / "w.safetensors"
    with pytest.raises(FileNotFoundError, match=r"download model\.safetensors"):
        load_imagenet_weights(source, path)
    path.write_bytes(b"not safetensors at all")
    with pytest.raises(ValueError, match="not a safetensors file"):
        load_imagenet_weights(source, path)
    save_file(torchvision_names(source), path)
    with pytest.raises(ValueError, match="of another network"):
        load_imagenet_weights(ResNet50(n_classes=7), path)
    with pytest.raises(ValueError, match=r"conv1.weight has shape .* at least 64 pixels"):
        load_imagenet_weights(ResNet34((3, 32, 32), 7), path)
    with pytest.raises(ValueError, match="not MLP"):
        load_imagenet_weights(MLP(4, 3), path)
