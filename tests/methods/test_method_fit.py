"""The loop: what may be passed to `fit`, checkpoints, lazy inputs, what comes back."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from truelabel import datasets, methods, networks


def weights(trained: methods.Trained) -> list[torch.Tensor]:
    return list(trained.network.state_dict().values())


class Lazy:
    """Inputs that cannot be had at once."""

    def __init__(self, array: Any) -> None:
        self.array, self.shape = array, array.shape

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, rows: Any) -> Any:
        return np.asarray(self.array[rows])


def test_inputs_that_are_read_as_needed_give_the_same_weights(noisy: Any) -> None:
    lazy = datasets.Split(Lazy(noisy.inputs), noisy.labels, noisy.class_names)
    method = methods.CE(epochs=2, batch_size=32)
    trained = method.fit(lazy, "mlp")
    assert all(map(torch.equal, weights(trained), weights(method.fit(noisy, "mlp"))))
    assert not trained.predictions(lazy).out_of_sample


def test_a_last_batch_of_one_is_joined_to_the_one_before(noisy: Any) -> None:
    trained = methods.CE(epochs=1, batch_size=32).fit(noisy[:65], "cnn-tiny")  # BatchNorm fails on one row
    assert np.isfinite(trained.history[0]["loss"])


def test_a_module_is_copied_with_its_weights_but_a_new_head(noisy: Any) -> None:
    given = networks.build("mlp", (1, 8, 8), 10)
    before = {name: value.clone() for name, value in given.state_dict().items()}
    method = methods.CoTeaching(epochs=1, noise_rate=0.4, learning_rate=1e-12)
    trained = method.fit(noisy, given)
    after = trained.network.state_dict()
    assert all(torch.equal(before[name], value) for name, value in given.state_dict().items())
    for name, value in after.items():
        assert torch.allclose(value, before[name], atol=1e-6) != name.startswith("head")


def test_a_function_is_asked_for_each_network(noisy: Any) -> None:
    made: list[nn.Module] = []

    def make() -> nn.Module:
        made.append(nn.Sequential(nn.Flatten(), nn.Linear(64, 10)))
        return made[-1]

    said = methods.Forward(epochs=1).fit(noisy, make).predictions(noisy)
    assert len(made) == 2
    assert said.hidden is None


def test_a_network_with_other_outputs_is_refused(noisy: Any) -> None:
    with pytest.raises(ValueError, match=r"output of shape \(1, 7\), but there are 10 classes"):
        methods.CE(epochs=1).fit(noisy, lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 7)))


def test_a_network_without_a_linear_layer_is_refused(noisy: Any) -> None:
    with pytest.raises(ValueError, match="no linear layer to draw anew"):
        methods.CE(epochs=1).fit(noisy, nn.Flatten())


def test_the_network_is_the_papers_by_default(noisy: Any) -> None:
    assert isinstance(methods.CE(epochs=1).fit(noisy[:20]).network, networks.CNNSmall)


def test_other_inputs_than_trained_on_are_refused(noisy: Any) -> None:
    trained = methods.CE(epochs=1).fit(noisy, "mlp")
    with pytest.raises(ValueError, match=r"inputs have shape \(64,\), but training saw \(1, 8, 8\)"):
        trained.predict_proba(noisy.inputs.reshape(-1, 64))


def test_whether_predictions_are_out_of_sample_may_be_said(noisy: Any) -> None:
    assert methods.CE(epochs=1).fit(noisy, "mlp").predictions(noisy, out_of_sample=True).out_of_sample


@pytest.mark.parametrize(("parameter", "value"), [("seed", -1), ("checkpoint_every", 0)])
def test_a_bad_argument_is_named(noisy: Any, parameter: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{parameter} must be at least"):
        methods.CE(epochs=1).fit(noisy, "mlp", **{parameter: value})


class TestCheckpoint:
    def test_a_finished_training_is_not_repeated(self, noisy: Any, tmp_path: Any) -> None:
        method = methods.CE(epochs=2, batch_size=32)
        first = method.fit(noisy, "mlp", checkpoint=tmp_path)
        epochs: list[Any] = []
        second = method.fit(noisy, "mlp", checkpoint=tmp_path, on_epoch=epochs.append)
        assert not epochs
        assert all(map(torch.equal, weights(first), weights(second)))
        assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.safetensors"]

    def test_a_checkpoint_of_another_training_is_refused(self, noisy: Any, tmp_path: Any) -> None:
        methods.CE(epochs=2).fit(noisy, "mlp", checkpoint=tmp_path)
        with pytest.raises(ValueError, match=r"another training \(epochs was 2, now it is 3\)"):
            methods.CE(epochs=3).fit(noisy, "mlp", checkpoint=tmp_path)
        with pytest.raises(ValueError, match=r"another training \(seed was 0, now it is 1\)"):
            methods.CE(epochs=2).fit(noisy, "mlp", seed=1, checkpoint=tmp_path)
        with pytest.raises(ValueError, match=r"another training \(labels was"):
            methods.CE(epochs=2).fit(noisy.with_labels(noisy.labels[::-1]), "mlp", checkpoint=tmp_path)

    def test_it_may_be_written_every_few_epochs(self, noisy: Any, tmp_path: Any) -> None:
        def interrupt(record: dict[str, float]) -> None:
            if record["epoch"] == 3:
                raise KeyboardInterrupt

        method = methods.CE(epochs=4, batch_size=32)
        with pytest.raises(KeyboardInterrupt):
            method.fit(noisy, "mlp", checkpoint=tmp_path, checkpoint_every=2, on_epoch=interrupt)
        epochs: list[float] = []
        resumed = method.fit(noisy, "mlp", checkpoint=tmp_path, on_epoch=lambda record: epochs.append(record["epoch"]))
        assert epochs == [3, 4]
        assert all(map(torch.equal, weights(resumed), weights(method.fit(noisy, "mlp"))))

    def test_dropout_resumes_too(self, noisy: Any, tmp_path: Any) -> None:
        def make() -> nn.Module:
            return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.Dropout(0.5), nn.Linear(32, 10))

        def interrupt(record: dict[str, float]) -> None:
            raise KeyboardInterrupt

        method = methods.CE(epochs=2, batch_size=32)
        with pytest.raises(KeyboardInterrupt):
            method.fit(noisy, make, checkpoint=tmp_path, on_epoch=interrupt)
        resumed = method.fit(noisy, make, checkpoint=tmp_path)
        assert all(map(torch.equal, weights(resumed), weights(method.fit(noisy, make))))


class TestSaved:
    def test_a_network_of_your_own_is_asked_for(self, noisy: Any, tmp_path: Any) -> None:
        def make() -> nn.Module:
            return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))

        trained = methods.CE(epochs=1).fit(noisy, make)
        trained.save(tmp_path)
        with pytest.raises(ValueError, match="network of your own"):
            methods.Trained.load(tmp_path)
        loaded = methods.Trained.load(tmp_path, make)
        np.testing.assert_array_equal(loaded.predict_proba(noisy.inputs), trained.predict_proba(noisy.inputs))

    def test_an_empty_folder_is_named(self, tmp_path: Any) -> None:
        with pytest.raises(FileNotFoundError, match="holds no trained classifier"):
            methods.Trained.load(tmp_path)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_and_a_pipe_nothing(
    noisy: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    methods.CE(epochs=1).fit(noisy, "mlp")
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal)
    methods.CE(epochs=1).fit(noisy, "mlp")
    assert "noisy accuracy" in terminal.getvalue()
