"""Grad-CAM on networks made by hand, where the right place is known."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from truelabel import networks
from truelabel.analysis import (
    CalibratedLogProbabilities,
    LogProbabilities,
    draw_grad_cams,
    grad_cam,
    last_maps,
    spread,
)
from truelabel.calibrators.npc.model import DirichletVAE, Standardise

CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], dtype=np.float32)
CORNERS = np.array([[1, 0, 1], [0, 0, 0], [1, 0, 1]], dtype=np.float32)
CROSS_AT, CORNERS_AT = (4, 5), (13, 12)  # centres of the two patches


class Detector(nn.Module):
    """Class 0 is the sum of a map that fires on a cross alone, class 1 of one that fires on four corners alone."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)
        self.head = nn.Linear(2, 2)
        with torch.no_grad():
            self.conv.weight[0, 0], self.conv.weight[1, 0] = torch.tensor(2 * CROSS - 1), torch.tensor(2 * CORNERS - 1)
            self.conv.bias[:] = torch.tensor([-(CROSS.sum() - 1), -(CORNERS.sum() - 1)])
            self.head.weight[:], self.head.bias[:] = torch.eye(2), 0

    def features(self, x: Tensor) -> Tensor:
        return self.relu(self.conv(x)).sum(dim=(2, 3))

    def logits(self, features: Tensor) -> Tensor:
        return self.head(features)  # type: ignore[no-any-return]

    def forward(self, x: Tensor) -> Tensor:
        return self.logits(self.features(x))


def image() -> np.ndarray:
    """One image with a cross in one place and four corners in another."""
    found = np.zeros((1, 1, 18, 18), dtype=np.float32)
    for (row, column), patch in ((CROSS_AT, CROSS), (CORNERS_AT, CORNERS)):
        found[0, 0, row - 1 : row + 2, column - 1 : column + 2] = patch
    return found


def at_only(found: np.ndarray, place: tuple[int, int]) -> bool:
    """Return whether a map is 1 at this place and 0 everywhere else."""
    expected = np.zeros_like(found)
    expected[place] = 1
    return np.allclose(found, expected, atol=1e-6)


def fitted(vae: DirichletVAE, reads: list[str]) -> Any:
    return SimpleNamespace(network_=vae, reads_=reads)


def vae(width: int, on_y: np.ndarray, on_f: np.ndarray | None = None) -> DirichletVAE:
    """Return an autoencoder whose H is softmax(on_f·f(x) + on_y[ŷ])."""
    made = DirichletVAE(Standardise(torch.zeros(width), torch.ones(width)), width, 2, link="exp")
    with torch.no_grad():
        made.encoder.bias.zero_()
        made.encoder.weight[:, :width] = 0 if on_f is None else torch.tensor(on_f, dtype=torch.float32)
        made.encoder.weight[:, width:] = torch.tensor(on_y.T, dtype=torch.float32)
    return made.eval()


@pytest.mark.parametrize(("k", "place"), [(0, CROSS_AT), (1, CORNERS_AT)])
def test_the_patch_that_makes_the_class_is_found(k: int, place: tuple[int, int]) -> None:
    for module, layer in ((Detector(), "relu"), (LogProbabilities(Detector()), "network.relu")):
        assert at_only(grad_cam(module, layer, image(), k)[0], place)


def test_each_image_is_explained_by_itself() -> None:
    images = np.concatenate([image(), np.roll(image(), (2, -3), axis=(2, 3))])
    found = grad_cam(Detector(), "relu", images, [1, 0])
    assert at_only(found[0], CORNERS_AT)
    assert at_only(found[1], (CROSS_AT[0] + 2, CROSS_AT[1] - 3))


def test_weights_are_mean_gradients_worked_out_by_hand() -> None:
    # Score: 3·A + 2·B summed over 4 places; mean gradients 3 and −2; maps below; cut at 0 and scaled to 1.
    class Fixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.maps = nn.Conv2d(2, 2, 1, bias=False)
            self.maps.weight.data = torch.eye(2)[:, :, None, None]

        def forward(self, x: Tensor) -> Tensor:
            a, b = self.maps(x).sum(dim=(2, 3)).unbind(1)
            return torch.stack([3 * a - 2 * b, b], dim=1)

    x = np.array([[[[1.0, 2.0], [0.0, 4.0]], [[1.0, 0.0], [5.0, 3.0]]]])
    np.testing.assert_allclose(grad_cam(Fixed(), "maps", x, 0)[0], np.array([[1, 6], [0, 6]]) / 6, rtol=1e-6)


def test_a_class_that_nothing_speaks_for_has_an_empty_map() -> None:
    blank = np.zeros((1, 1, 18, 18))
    assert grad_cam(Detector(), "relu", blank, 0).max() == 0


def test_a_coarse_layer_is_brought_to_the_size_of_the_image() -> None:
    module = nn.Sequential(Detector().conv, nn.ReLU(), nn.MaxPool2d(6), nn.Flatten(), nn.Linear(18, 2))
    with torch.no_grad():
        module[4].weight[:] = torch.tensor([[1.0] * 9 + [0] * 9, [0] * 9 + [1.0] * 9])
    found = grad_cam(module, "2", image(), 0)[0]
    # One of 3×3 cells is on; between the centres of cells the map falls linearly.
    slope = np.array([1, 1, 1, *(11 / 12 - np.arange(6) / 6), *[0] * 9])
    np.testing.assert_allclose(found, np.outer(slope, slope), atol=1e-6)


def test_a_calibrator_that_changes_nothing_leaves_the_map() -> None:
    npc = fitted(vae(1, 30 * np.eye(2)), ["features"])
    module = CalibratedLogProbabilities(Detector(), npc, features=[[0.0]])
    for k, place in ((0, CROSS_AT), (1, CORNERS_AT)):
        assert at_only(grad_cam(module, "network.relu", image(), k)[0], place)


def test_a_calibrator_that_swaps_the_classes_swaps_the_maps() -> None:
    # H: whatever the classifier calls 0 is 1 and the other way round, so the cross speaks for class 1.
    npc = fitted(vae(1, 4 * np.eye(2)[::-1]), ["features"])
    module = CalibratedLogProbabilities(Detector(), npc, features=[[0.0]])
    for k, place in ((1, CROSS_AT), (0, CORNERS_AT)):
        assert at_only(grad_cam(module, "network.relu", image(), k)[0], place)


def test_the_calibrated_log_probabilities_are_the_calibrator_s() -> None:
    rng = np.random.default_rng(0)
    made = vae(3, rng.normal(size=(2, 2)), rng.normal(size=(2, 3)))
    features = rng.normal(size=(2, 3)).astype(np.float32)
    x = torch.from_numpy(np.concatenate([image(), image() * 0.5]))
    network = Detector()
    expected = made.calibrate(torch.from_numpy(features), network(x).softmax(1))
    module = CalibratedLogProbabilities(network, fitted(made, ["features"]), features=features)
    torch.testing.assert_close(module(x).exp(), expected / expected.sum(1, keepdim=True))
    computed = CalibratedLogProbabilities(network, fitted(made, ["features"]), featurizer=nn.Sequential(First()))
    expected = made.calibrate(First()(x), network(x).softmax(1))
    torch.testing.assert_close(computed(x).exp(), expected / expected.sum(1, keepdim=True))


class First(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[:, 0, 3, 4:7]


def test_the_hidden_layer_is_differentiated_through() -> None:
    # H depends on the hidden layer alone: its first value, the cross, speaks for class 1 whatever ŷ is.
    made = vae(2, np.zeros((2, 2)), np.array([[0.0, 0.0], [1.0, 0.0]]))
    module = CalibratedLogProbabilities(Detector(), fitted(made, ["hidden"]))
    assert at_only(grad_cam(module, "network.relu", image(), 1)[0], CROSS_AT)
    assert grad_cam(module, "network.relu", image(), 0).max() == 0


def test_a_featurizer_s_layer_can_be_explained() -> None:
    class Featurizer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside = Detector()

        def forward(self, x: Tensor) -> Tensor:
            return self.inside.features(x)

    made = vae(2, np.zeros((2, 2)), np.array([[0.0, 0.0], [1.0, 0.0]]))
    module = CalibratedLogProbabilities(Detector(), fitted(made, ["features"]), featurizer=Featurizer())
    assert at_only(grad_cam(module, "featurizer.inside.relu", image(), 1)[0], CROSS_AT)


def test_modes_and_weights_are_left_as_they_were() -> None:
    network = networks.build("cnn-tiny", (1, 28, 28), 10).train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    found = grad_cam(network, "trunk.5", np.random.default_rng(0).random((3, 1, 28, 28)), [0, 1, 2])
    assert found.shape == (3, 28, 28)
    assert network.training
    for name, value in network.state_dict().items():
        torch.testing.assert_close(value, before[name])


@pytest.mark.parametrize(
    ("name", "side", "layer"),
    [("cnn-tiny", 28, "trunk.5"), ("cnn-small", 10, "trunk.4"), ("resnet34", 32, "layer4.2.relu")],
)
def test_the_default_layer_is_the_last_with_maps_after_its_activation(name: str, side: int, layer: str) -> None:
    network = networks.build(name, (1, side, side), 3)
    assert last_maps(network, np.zeros((1, 1, side, side))) == layer


def test_spread_is_the_share_above_half_the_maximum() -> None:
    maps = np.zeros((3, 2, 5))
    maps[0, 0, :3] = (1.0, 0.6, 0.4)
    maps[1] = 0.3
    np.testing.assert_allclose(spread(maps), [0.2, 1.0, 0.0])


def test_overlays_stand_under_their_images() -> None:
    maps = {"classifier": np.full((2, 18, 18), 0.25), "NPC": np.full((2, 18, 18), 0.75)}
    figure = draw_grad_cams(np.concatenate([image(), image()]), maps, ["cross", "corners"], "by hand")
    panels = figure.axes[:6]
    assert [axis.get_title() for axis in panels[:2]] == ["cross", "corners"]
    assert [panels[k].get_ylabel() for k in (0, 2, 4)] == ["image", "classifier", "NPC"]
    assert [len(axis.images) for axis in panels] == [1, 1, 2, 2, 2, 2]
    assert panels[5].images[1].get_array()[0, 0] == 0.75


@pytest.mark.parametrize(
    ("layer", "classes", "complaint"),
    [
        ("nowhere", 0, "no layer named 'nowhere'; there are conv, relu, head"),
        ("head", 0, r"gives an output of shape \(1, 2\)"),
        ("relu", 2, "from 0 to 1"),
    ],
)
def test_what_cannot_be_explained_is_refused(layer: str, classes: int, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        grad_cam(Detector(), layer, image(), classes)


def test_missing_features_are_named() -> None:
    npc = fitted(vae(3, np.eye(2)), ["features"])
    with pytest.raises(ValueError, match="the calibrator reads features; pass either features"):
        CalibratedLogProbabilities(Detector(), npc)
    with pytest.raises(ValueError, match="reads the hidden layer"):
        CalibratedLogProbabilities(nn.Sequential(), fitted(vae(3, np.eye(2)), ["hidden"]))
    module = CalibratedLogProbabilities(Detector(), npc, features=np.zeros((2, 3)))
    with pytest.raises(ValueError, match="features of 2 images, but 1 images"):
        grad_cam(module, "network.relu", image(), 0)
    with pytest.raises(ValueError, match="no convolution"):
        last_maps(nn.Flatten(), image())
