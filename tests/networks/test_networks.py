import pytest
import torch
from torch import nn

from truelabel import networks
from truelabel.networks import CNN9, MLP, CNNReleased, CNNSmall, CNNTiny, ResNet34, ResNet50

SMALL = {
    "cnn-small": (1, 12, 10),
    "cnn-released": (1, 12, 10),
    "cnn-9": (3, 12, 12),
    "cnn-9-released": (3, 12, 12),
    "cnn-tiny": (3, 17, 16),
    "resnet34": (3, 16, 16),
    "resnet50": (3, 64, 64),
    "mlp": (7,),
}
every_network = pytest.mark.parametrize("name", networks.NAMES)


def parameters(network):
    return sum(parameter.numel() for parameter in network.parameters())


@pytest.mark.parametrize(
    ("network", "count"),
    [
        (CNNSmall, 10_040_074),
        (CNNReleased, 10_040_074),
        (CNN9, 4_434_570),
        (ResNet34, 21_797_672),
        (ResNet50, 25_557_032),
    ],
)
def test_parameter_counts_are_the_published_ones(network, count):
    with torch.device("meta"):
        assert parameters(network()) == count


def test_the_tiny_network_is_tiny():
    assert parameters(CNNTiny()) < 50_000


@every_network
def test_logits_follow_from_features(name):
    torch.manual_seed(0)
    network = networks.build(name, SMALL[name], 4).eval()
    x = torch.randn(2, *SMALL[name])
    features = network.features(x)
    assert features.shape == (2, network.feature_dim)
    assert isinstance(network.head, nn.Linear)
    assert network.head.in_features == network.feature_dim
    assert network(x).shape == (2, 4)
    torch.testing.assert_close(network(x), network.head(features))


@every_network
def test_gradients_reach_every_parameter(name):
    torch.manual_seed(0)
    network = networks.build(name, SMALL[name], 4)
    nn.functional.cross_entropy(network(torch.randn(3, *SMALL[name])), torch.tensor([0, 1, 3])).backward()
    for title, parameter in network.named_parameters():
        # A bias before BatchNorm has no effect, and so no gradient.
        if title.endswith("weight"):
            assert parameter.grad.abs().sum() > 0, title


def test_the_callers_seed_decides_the_weights():
    def weights(seed):
        torch.manual_seed(seed)
        return CNNTiny().head.weight

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


@pytest.mark.parametrize("size", [4, 27, 28])
def test_cnn9_takes_images_of_many_sizes(size):
    assert CNN9((1, size, size), 3).eval()(torch.zeros(1, 1, size, size)).shape == (1, 3)


@pytest.mark.parametrize(("height", "width"), [(2, 2), (8, 8), (15, 40), (28, 28), (33, 16)])
def test_the_tiny_network_takes_images_of_many_sizes(height, width):
    assert CNNTiny((1, height, width), 3).eval()(torch.zeros(1, 1, height, width)).shape == (1, 3)


def test_dropout_of_cnn9_is_a_parameter():
    rates = {module.p for module in CNN9(dropout=0.4).modules() if isinstance(module, nn.Dropout2d)}
    assert rates == {0.4}
    assert {module.p for module in CNN9().modules() if isinstance(module, nn.Dropout2d)} == {0.25}


def test_the_released_dropout_of_cnn9_is_another():
    network = networks.build("cnn-9-released", (3, 12, 12), 4)
    assert {module.p for module in network.modules() if isinstance(module, nn.Dropout2d)} == {0.3}


def test_the_released_network_is_linear_behind_its_second_convolution():
    """Its hidden layer and logits are affine in the outputs of Tanh; those of the paper's table are not."""
    torch.manual_seed(0)
    for network, linear in ((CNNReleased((1, 6, 5), 3), True), (CNNSmall((1, 6, 5), 3), False)):
        network.eval()
        kinds = [type(module) for module in network.trunk]
        rest = nn.Sequential(*network.trunk[kinds.index(nn.Flatten) :], network.head)
        one, other = torch.randn(2, 4, 16, 6, 5)
        middle = (rest(one) + rest(other)) / 2
        assert torch.allclose(rest((one + other) / 2), middle, atol=1e-5) == linear


def test_the_released_network_normalises_behind_relu_and_drops_three_tenths_of_its_first_dense_layer():
    network = CNNReleased()
    kinds = [type(module) for module in network.trunk]
    assert kinds[:3] == [nn.Conv2d, nn.ReLU, nn.BatchNorm2d]
    assert [type(module) for module in CNNSmall().trunk][:3] == [nn.Conv2d, nn.BatchNorm2d, nn.ReLU]
    place = kinds.index(nn.Dropout)
    assert network.trunk[place].p == 0.3
    assert network.trunk[place - 1].out_features == 28 * 28
    assert CNNReleased(dropout=0.0).trunk[place].p == 0


def test_an_mlp_flattens_images_and_has_the_hidden_layers_it_is_given():
    network = networks.build("mlp", (1, 4, 4), 3, hidden=(8, 5))
    widths = [layer.out_features for layer in network.modules() if isinstance(layer, nn.Linear)]
    assert widths == [8, 5, 3]
    assert network(torch.zeros(2, 1, 4, 4)).shape == (2, 3)
    with pytest.raises(ValueError, match="at least one hidden layer"):
        MLP(4, 3, hidden=())


def test_small_images_keep_their_size_in_a_resnets_stem():
    small, large = ResNet34((3, 32, 32), 10), ResNet34((3, 64, 64), 10)
    assert (small.conv1.stride, large.conv1.stride) == ((1, 1), (2, 2))


@pytest.mark.parametrize(
    ("in_shape", "name"),
    [
        ((20,), "mlp"),
        ((1, 8, 8), "cnn-small"),
        ((1, 28, 28), "cnn-small"),
        ((3, 32, 32), "cnn-9"),
        ((1, 64, 64), "cnn-9"),
        ((3, 224, 224), "resnet50"),
    ],
)
def test_the_default_is_the_papers_network_for_that_shape(in_shape, name):
    assert networks.default_for(in_shape) == name


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="no network named 'vgg'; choose one of cnn-small, cnn-released, cnn-9"):
        networks.build("vgg", (1, 28, 28), 10)


@pytest.mark.parametrize("name", ["cnn-small", "cnn-released", "cnn-9", "cnn-9-released", "cnn-tiny", "resnet34"])
def test_a_network_for_images_refuses_vectors(name):
    with pytest.raises(ValueError, match='use "mlp"'):
        networks.build(name, (20,), 10)
