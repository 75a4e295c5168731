import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import truelabel as tl
from truelabel.integrations.pytorch import layer_inputs

N = 23


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


@pytest.fixture
def images():
    return torch.randn(N, 1, 4, 4)


@pytest.fixture
def labels():
    return torch.arange(N) % 3


@pytest.fixture
def net():
    return nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1),
        nn.BatchNorm2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32, 5),
        nn.Dropout(0.5),
        nn.Linear(5, 3),
    )


@pytest.fixture
def loader(images, labels):
    return DataLoader(TensorDataset(images, labels), batch_size=10)


def forward(module, x):
    was = module.training
    with torch.no_grad():
        out = module.eval()(x)
    module.train(was)
    return out.numpy()


def hooks(module):
    return [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in module.modules()]


def test_it_says_what_a_forward_by_hand_says(net, loader, images, labels):
    said = tl.predict(net, loader, class_names=["a", "b", "c"], out_of_sample=True)
    expected = torch.softmax(torch.from_numpy(forward(net, images)), dim=1)
    np.testing.assert_allclose(said.probs, expected, atol=1e-6)
    np.testing.assert_array_equal(said.labels, labels)
    assert said.class_names == ("a", "b", "c")
    assert said.out_of_sample
    for name in ("features", "hidden", "inputs"):
        assert getattr(said, name) is None


def test_a_layer_of_the_classifier_becomes_hidden_and_no_feature(net, loader, images):
    said = tl.predict(net, loader, layer="4")
    assert said.features is None  # which saw the labels, and is no label-free view of the instances
    np.testing.assert_allclose(said.hidden, forward(net[:5], images), atol=1e-6)


def test_the_output_of_a_layer_is_flattened(net, loader, images):
    said = tl.predict(net, loader, layer="2")
    assert said.hidden.shape == (N, 32)
    np.testing.assert_allclose(said.hidden, forward(net[:3], images).reshape(N, -1), atol=1e-6)


def test_an_encoder_gives_the_features(net, loader, images):
    encoder = nn.Sequential(nn.Conv2d(1, 3, 3), nn.Dropout(0.5))
    said = tl.predict(net, loader, layer="4", encoder=encoder)
    np.testing.assert_allclose(said.features, forward(encoder, images).reshape(N, -1), atol=1e-6)
    np.testing.assert_allclose(said.hidden, forward(net[:5], images), atol=1e-6)


def test_several_encoders_give_named_views(net, loader, images):
    encoders = {"pixels": nn.Identity(), "logits": nn.Sequential(nn.Flatten(), nn.Linear(16, 2))}
    said = tl.predict(net, loader, layer="4", encoder=encoders)
    assert list(said.views) == ["pixels", "logits"]
    np.testing.assert_array_equal(said.views["pixels"], images.flatten(1))
    np.testing.assert_allclose(said.views["logits"], forward(encoders["logits"], images), atol=1e-6)
    np.testing.assert_allclose(said.hidden, forward(net[:5], images), atol=1e-6)


def test_inputs_are_kept_on_demand(net, loader, images):
    said = tl.predict(net, loader, keep_inputs=True)
    np.testing.assert_array_equal(said.inputs, images)


@pytest.mark.parametrize("form", ["tensors", "tuples", "lists"])
def test_labels_may_be_absent(net, images, form):
    batches = list(images.split(7))
    batches = {"tensors": batches, "tuples": [(x,) for x in batches], "lists": [[x] for x in batches]}[form]
    said = tl.predict(net, batches)
    assert said.labels is None
    assert len(said) == N
    np.testing.assert_allclose(said.probs, torch.softmax(torch.from_numpy(forward(net, images)), dim=1), atol=1e-6)


def test_half_precision_networks_are_taken(images):
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, 3)).to(torch.bfloat16)
    said = tl.predict(net, [images.to(torch.bfloat16)], layer="1")
    assert said.probs.dtype == said.hidden.dtype == np.float32
    assert len(said) == N


@pytest.mark.parametrize("training", [True, False])
def test_networks_are_left_as_they_were(net, loader, training):
    encoder = nn.Sequential(nn.Flatten(), nn.Dropout(0.1))
    net.train(training)
    net[1].eval()  # a layer that the user froze stays frozen
    before = {name: value.clone() for name, value in net.state_dict().items()}
    modes = [part.training for part in net.modules()]
    tl.predict(net, loader, layer="4", encoder=encoder)
    assert [part.training for part in net.modules()] == modes
    assert encoder.training
    assert sum(hooks(net)) == 0
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_networks_are_left_as_they_were_after_an_error(net, images):
    net.train()
    with pytest.raises(RuntimeError):
        tl.predict(net, [images, images[:, :, :2]], layer="4")
    assert all(part.training for part in net.modules())
    assert sum(hooks(net)) == 0


def test_bad_arguments_are_refused(net, loader, images, labels):
    with pytest.raises(ValueError, match="module has no layer named 'fc'; it has 0, 1, 2, 3, 4, 5, 6"):
        tl.predict(net, loader, layer="fc")
    with pytest.raises(ValueError, match="loader gave no batch; pass one with at least one instance"):
        tl.predict(net, [])
    for batch in ((images, labels, labels), {"x": images}, images.numpy(), ()):
        with pytest.raises(ValueError, match=r"loader must give tensors of inputs, or pairs of \(inputs, labels\)"):
            tl.predict(net, [batch])
    with pytest.raises(ValueError, match="module must return one row of logits an instance; wrap it"):
        tl.predict(net[:1], loader)
    with pytest.raises(ValueError, match="labels has 9 in row 0, but probs has 3 columns"):
        tl.predict(net, [(images[:1], [9])])
    with pytest.raises(ValueError, match='progress must be True, False or "auto"'):
        tl.predict(net, loader, progress="yes")


def test_what_enters_a_layer_is_read_in_batches_of_any_number(net):
    x = torch.randn(700, 1, 4, 4)
    net.train()
    found = layer_inputs(net, net[6], lambda rows, device: x[rows].to(device), 700, torch.device("cpu"))
    np.testing.assert_allclose(found, forward(net[:6], x), atol=1e-6)
    assert net.training
    assert sum(hooks(net)) == 0
