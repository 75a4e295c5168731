"""Residual networks (He et al., 2016), with the parameter names that ImageNet weights are published under."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor, nn

from truelabel.networks.base import Network, Shape, image_shape

WIDTHS = (64, 128, 256, 512)
SMALL = 64  # below this many pixels a side the stem does not shrink the image


class _Block(nn.Module):
    """Convolutions with a shortcut around them."""

    downsample: nn.Sequential | None

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(
                nn.Conv2d(before, after, 1, stride=stride, bias=False), nn.BatchNorm2d(after)
            )

    @abstractmethod
    def _residual(self, x: Tensor) -> Tensor: ...

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        out: Tensor = self.relu(self._residual(x) + shortcut)
        return out


class BasicBlock(_Block):
    """Two 3×3 convolutions."""

    expansion = 1

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__(before, width, stride)
        self.conv1 = nn.Conv2d(before, width, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def _residual(self, x: Tensor) -> Tensor:
        out: Tensor = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return out


class Bottleneck(_Block):
    """1×1, 3×3 and 1×1 convolutions; the 3×3 carries the stride, as in the published weights ("v1.5")."""

    expansion = 4

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__(before, 4 * width, stride)
        self.conv1 = nn.Conv2d(before, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)

    def _residual(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        return self.bn3(self.conv3(out))  # type: ignore[no-any-return]


class ResNet(Network):
    """A stem, four stages of residual blocks, and the average over the image.

    Images of at least 64 pixels a side go through the ImageNet stem (7×7, stride 2, max-pool); smaller ones,
    such as CIFAR-10's, through a 3×3 convolution that keeps their size.
    """

    def __init__(
        self, block: type[BasicBlock | Bottleneck], depths: tuple[int, ...], in_shape: Shape, n_classes: int
    ) -> None:
        super().__init__()
        channels, height, width = image_shape(in_shape, "a ResNet")
        large = min(height, width) >= SMALL
        self.conv1 = (
            nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False)
            if large
            else nn.Conv2d(channels, 64, 3, padding=1, bias=False)
        )
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1) if large else nn.Identity()
        before = 64
        for number, (depth, width) in enumerate(zip(depths, WIDTHS, strict=True), start=1):
            blocks: list[nn.Module] = []
            for position in range(depth):
                blocks.append(block(before, width, stride=2 if number > 1 and position == 0 else 1))
                before = width * block.expansion
            setattr(self, f"layer{number}", nn.Sequential(*blocks))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.feature_dim = before
        self.head = nn.Linear(before, n_classes)

    def features(self, x: Tensor) -> Tensor:
        """Return the last hidden layer, (n, h)."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for number in range(1, len(WIDTHS) + 1):
            x = getattr(self, f"layer{number}")(x)
        out: Tensor = self.avgpool(x).flatten(1)
        return out


class ResNet34(ResNet):
    """ResNet-34, for the paper's comparison with CausalNL.

    Parameters
    ----------
    in_shape : (channels, height, width), default (3, 224, 224)
        Shape of one image.
    n_classes : int, default 1000
        Number of classes.
    """

    def __init__(self, in_shape: Shape = (3, 224, 224), n_classes: int = 1000) -> None:
        super().__init__(BasicBlock, (3, 4, 6, 3), in_shape, n_classes)


class ResNet50(ResNet):
    """ResNet-50, the paper's network for Food-101 and Clothing1M.

    Parameters
    ----------
    in_shape : (channels, height, width), default (3, 224, 224)
        Shape of one image.
    n_classes : int, default 1000
        Number of classes.
    """

    def __init__(self, in_shape: Shape = (3, 224, 224), n_classes: int = 1000) -> None:
        super().__init__(Bottleneck, (3, 4, 6, 3), in_shape, n_classes)
