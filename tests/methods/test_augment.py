"""Random crops and flips: where they come from, how often, and that predictions see none."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from truelabel import methods
from truelabel.datasets import LazyImages, Split
from truelabel.methods import Run
from truelabel.methods.augment import crop_and_flip, widened
from truelabel.methods.base import Method
from truelabel.methods.run import Inputs


def windows(image: torch.Tensor, height: int, width: int) -> list[torch.Tensor]:
    """Return every window of an image, as it is and mirrored."""
    places = [
        image[:, top : top + height, left : left + width]
        for top in range(image.shape[1] - height + 1)
        for left in range(image.shape[2] - width + 1)
    ]
    return [*places, *(place.flip(2) for place in places)]


def test_every_window_and_its_mirror_image_is_equally_often() -> None:
    torch.manual_seed(0)
    image = torch.arange(2 * 4 * 5, dtype=torch.float32).reshape(2, 4, 5)
    n = 12_000
    found = crop_and_flip(image.expand(n, -1, -1, -1), 3, 3)
    expected = windows(image, 3, 3)
    assert found.shape == (n, 2, 3, 3)
    counts = np.array([(found == window).all(dim=(1, 2, 3)).sum().item() for window in expected])
    assert len(expected) == 2 * 2 * 3
    assert counts.sum() == n
    deviation = np.sqrt(n * (1 / 12) * (11 / 12))  # of a binomial count
    assert np.abs(counts - n / 12).max() < 4 * deviation


def test_images_of_a_batch_are_cropped_apart() -> None:
    torch.manual_seed(0)
    images = torch.rand(50, 1, 6, 6)
    places = [
        next(k for k, window in enumerate(windows(image, 4, 4)) if torch.equal(window, found))
        for image, found in zip(images, crop_and_flip(images, 4, 4), strict=True)
    ]
    assert len(set(places)) > 10


def test_an_image_in_one_size_gets_a_margin_of_zeros() -> None:
    wide = widened(torch.ones(2, 3, 32, 16))
    assert wide.shape == (2, 3, 40, 20)
    assert wide.sum() == 2 * 3 * 32 * 16
    assert (wide[:, :, 4:36, 2:18] == 1).all()


class Recorder(nn.Module):
    """A network that remembers what it was shown while training and while not."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(4, 2)
        self.seen: dict[bool, list[torch.Tensor]] = {True: [], False: []}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen[self.training].append(x.detach().clone())
        out: torch.Tensor = self.last(x.mean(dim=1).flatten(1)[:, :4])
        return out


def test_training_sees_random_windows_and_predictions_the_images(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for k in range(6):
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(tmp_path / f"{k}.png")
    images = LazyImages(tmp_path, [f"{k}.png" for k in range(6)], size=8, crop=4)
    network = Recorder()
    split = Split(images, np.arange(6) % 2, ("a", "b"))
    trained = methods.CE(epochs=3, batch_size=6, augment="crop-flip").fit(split, lambda: network, seed=0)
    whole = torch.from_numpy(images.uncropped(np.arange(6)))
    allowed = [window for image in whole for window in windows(image, 4, 4)]
    shown = torch.cat([batch for batch in network.seen[True] if len(batch) == 6])
    assert len(shown) == 18
    assert all(any(torch.equal(one, window) for window in allowed) for one in shown)
    middles = [torch.from_numpy(middle) for middle in images[:]]
    assert not all(any(torch.equal(one, middle) for middle in middles) for one in shown)
    network.seen[False].clear()
    said = trained.predictions(split)
    np.testing.assert_array_equal(network.seen[False][0], images[:])
    assert not said.out_of_sample  # the instances are recognised, although training saw other parts of them


def test_without_it_training_sees_the_images() -> None:
    inputs = np.random.default_rng(0).random((6, 1, 4, 4)).astype(np.float32)
    split = SimpleNamespace(inputs=inputs, labels=np.arange(6) % 2, n_classes=2, class_names=None)
    for augment, equal in (("none", True), ("crop-flip", False)):
        torch.manual_seed(0)
        run = Run(methods.CE(batch_size=6, augment=augment), split, split.labels, Recorder, "cpu")
        batch = next(run.batches(run.rows))
        assert batch.inputs.shape == (6, 1, 4, 4)
        assert np.array_equal(batch.inputs.numpy(), inputs[batch.rows.numpy()]) == equal


def test_what_is_no_image_is_refused() -> None:
    split = SimpleNamespace(inputs=np.zeros((6, 4)), labels=np.arange(6) % 2, n_classes=2, class_names=None)
    with pytest.raises(ValueError, match=r"is for images .* but the inputs have shape \(4,\)"):
        methods.CE(augment="crop-flip").fit(split, "mlp")
    with pytest.raises(ValueError, match=r"augment of .* must be"):
        Method(augment="blur")  # type: ignore[arg-type]


def test_what_an_oblong_image_is_recognised_by_is_its_middle() -> None:
    whole = np.random.default_rng(0).random((5, 1, 10, 6)).astype(np.float32)

    class Source:
        shape = (5, 1, 4, 2)

        def __len__(self) -> int:
            return 5

        def __getitem__(self, index: np.ndarray) -> np.ndarray:
            return whole[index][:, :, 3:7, 2:4]

        def uncropped(self, index: np.ndarray) -> np.ndarray:
            return whole[index]

    plain, cropped = (Inputs(Source(), torch.device("cpu")) for _ in range(2))
    plain[torch.arange(5)]
    assert cropped.augmented(torch.arange(5)).shape == (5, 1, 4, 2)
    assert plain.marks.all()
    np.testing.assert_array_equal(cropped.marks, plain.marks)
