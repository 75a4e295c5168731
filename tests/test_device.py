"""A device that is not there gives one sentence."""

import pytest
import torch

from truelabel import device


@pytest.mark.parametrize("name", ["tpu9", "", "cuda:banana"])
def test_what_is_no_device_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r'there is no device .*; choose "cpu"'):
        device.resolve(name)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_here_is_refused() -> None:
    with pytest.raises(ValueError, match=r'the device "cuda" cannot be used here .*; choose "cpu" or "auto"'):
        device.resolve("cuda")
    assert device.resolve("cpu") == device.resolve(torch.device("cpu")) == torch.device("cpu")
