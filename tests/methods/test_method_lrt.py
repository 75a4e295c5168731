"""LRT: the test of a label by hand, and when it is made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from truelabel import datasets, methods
from truelabel.methods.lrt import ratio_test

PROBS = torch.tensor([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.4, 0.4, 0.2], [0.5, 0.0, 0.5]])
LABELS = torch.tensor([0, 1, 2, 1, 1])  # the ratios max p / p_label are 1, 2, 6, 1 and infinite


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(1.0, [0, 0, 0, 1, 0]), (1.9, [0, 0, 0, 1, 0]), (2.1, [0, 1, 0, 1, 0]), (6.5, [0, 1, 2, 1, 0])],
)
def test_a_label_becomes_the_prediction_where_the_ratio_exceeds_the_threshold(
    threshold: float, expected: list[int]
) -> None:
    assert ratio_test(PROBS, LABELS, threshold).tolist() == expected
    assert LABELS.tolist() == [0, 1, 2, 1, 1]


def test_the_threshold_grows_by_a_fiftieth_an_epoch_as_in_the_release() -> None:
    lrt = methods.LRT()
    assert lrt.threshold_at(29) == pytest.approx(1.2)
    assert lrt.threshold_at(30) == pytest.approx(1.22)
    assert lrt.threshold_at(100) == pytest.approx(1.2 + 0.02 * 71)
    assert lrt.threshold_at(179) == pytest.approx(4.2)


def test_the_loss_is_the_cross_entropy_of_the_corrected_label(written: Any) -> None:
    run, batch = written(methods.LRT(), [0, 1], [[0.7, 0.2, 0.1], [0.25, 0.25, 0.5]])
    run.method.start(run)
    run.state["corrected"] = torch.tensor([1, 1])
    assert run.method.loss(run, batch).item() == pytest.approx(-(np.log(0.2) + np.log(0.25)) / 2)


def test_it_is_the_mean_of_the_last_epochs_that_is_tested(written: Any) -> None:
    """Two instances, both labelled 0; over two epochs their mean ratios are 1.5 and 4."""
    method = methods.LRT(epochs=6, threshold=2.0, growth=0.0, average=1 / 3, correct_from=0.0)
    run, batch = written(method, [0, 0], [[0.2, 0.8], [0.2, 0.8]])
    method.start(run)
    for epoch, second in enumerate(([0.6, 0.4], [0.2, 0.8])):
        with torch.no_grad():
            run.network.table.copy_(torch.tensor([second, [0.2, 0.8]]).log())
        run.epoch = epoch
        batch.__dict__.pop("logits", None)
        method.loss(run, batch)
        method.end_epoch(run)
        if epoch == 0:  # the window is not full yet
            assert run.state["corrected"].tolist() == [0, 0]
    torch.testing.assert_close(run.state["past"].mean(dim=0), torch.tensor([[0.4, 0.6], [0.2, 0.8]]))
    assert run.state["corrected"].tolist() == [0, 1]


def test_no_label_is_tested_before_its_time(written: Any) -> None:
    method = methods.LRT(epochs=12, average=0.0)
    run, batch = written(method, [0], [[0.01, 0.99]])
    method.start(run)
    for epoch in range(4):
        run.epoch = epoch
        method.loss(run, batch)
        method.end_epoch(run)
        assert run.state["corrected"].tolist() == ([0] if epoch < 2 else [1])


def test_it_corrects_most_wrong_labels_of_well_separated_classes() -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 3
    x = (rng.normal(size=(300, 4)) + 6 * np.eye(3, 4)[truth]).astype(np.float32)
    noisy = np.where(rng.random(300) < 0.3, (truth + 1) % 3, truth)
    seen: dict[str, Any] = {}

    class Watched(methods.LRT):
        def finish(self, run: Any) -> None:
            seen["corrected"] = run.state["corrected"].numpy()

    method = Watched(epochs=30, batch_size=32)
    trained = method.fit(datasets.Split(x, noisy, tuple("abc")), "mlp")
    assert (noisy == truth).mean() < 0.75
    assert (seen["corrected"] == truth).mean() > 0.97
    assert (trained.predict_proba(x).argmax(axis=1) == truth).mean() > 0.97


@pytest.mark.parametrize("parameters", [{"threshold": 0.9}, {"growth": -1.0}, {"correct_from": 2.0}, {"average": -0.1}])
def test_a_parameter_out_of_range_is_named(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(parameters))} of LRT must be"):
        methods.LRT(**parameters)
