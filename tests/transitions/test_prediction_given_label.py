"""p(ŷ | ỹ, x), learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

from truelabel import Predictions
from truelabel.transitions import PredictionGivenLabel

ALL = slice(0, 6000)


def test_both_are_learned_as_they_were_written_down(written: Any) -> None:
    """Stated error: 0.1 for an entry at worst (a rare label has 100 draws, which err by 0.05), 0.03 on average."""
    where, _, said = written.draw(6000)
    given, alone = PredictionGivenLabel(random_state=0).fit(said).transition(said, ALL)
    error = np.stack([given[where == x].mean(axis=0) - written.G[x] for x in range(4)])
    assert np.abs(error).max() < 0.1
    assert np.abs(error).mean() < 0.03
    error = np.stack([alone[where == x].mean(axis=0) - written.q[x] for x in range(4)])
    assert np.abs(error).max() < 0.06
    np.testing.assert_allclose(given.sum(axis=2), 1, atol=1e-5)
    np.testing.assert_allclose(alone.sum(axis=1), 1, atol=1e-5)


def test_the_same_seed_gives_the_same_network_and_rows_are_the_instances_asked_for(written: Any) -> None:
    _, _, said = written.draw(100)
    first, second, other = (PredictionGivenLabel(hidden=8, steps=60, random_state=seed).fit(said) for seed in (0, 0, 1))
    given, alone = first.transition(said, slice(0, 100))
    np.testing.assert_array_equal(given, second.transition(said, slice(0, 100))[0])
    assert not np.array_equal(given, other.transition(said, slice(0, 100))[0])
    some = first.transition(said, slice(60, 80))
    np.testing.assert_allclose(some[0], given[60:80], atol=1e-6)
    np.testing.assert_allclose(some[1], alone[60:80], atol=1e-6)


def test_weights_are_kept_from_where_the_held_out_part_was_predicted_best() -> None:
    """On pure chance, training on and on would only learn the training part by heart."""
    rng = np.random.default_rng(0)
    said = Predictions(
        np.eye(2)[rng.integers(2, size=200)], rng.normal(size=(200, 30)), labels=rng.integers(2, size=200)
    )
    learned = PredictionGivenLabel(random_state=0).fit(said)
    assert learned.likelihood_ > 1.3 * np.log(0.5)
    given, _ = learned.transition(said, slice(0, 200))
    assert np.mean(given.max(axis=2) > 0.99) < 0.1


def test_the_hidden_layer_serves_where_there_are_no_features(written: Any) -> None:
    _, _, said = written.draw(200)
    hidden = Predictions(said.probs, hidden=said.views["features"], labels=said.labels)
    learned = (PredictionGivenLabel(hidden=8, steps=60, random_state=0).fit(part) for part in (said, hidden))
    one, other = (each.transition(part, slice(0, 200)) for each, part in zip(learned, (said, hidden), strict=True))
    np.testing.assert_array_equal(one[0], other[0])


def test_several_views_are_read_side_by_side(written: Any) -> None:
    _, _, said = written.draw(200)
    x = said.views["features"]
    views = said.replace(features={"first": x[:, :1], "second": x[:, 1:]})
    together = PredictionGivenLabel(hidden=8, steps=60, random_state=0).fit(said)
    learned = PredictionGivenLabel(hidden=8, steps=60, random_state=0).fit(views)
    one, other = together.transition(said, slice(0, 200)), learned.transition(views, slice(0, 200))
    np.testing.assert_allclose(one[0], other[0], atol=1e-6)
    with pytest.raises(ValueError, match="learned on 'second', which is missing"):
        learned.transition(said.replace(features={"first": x[:, :1]}), slice(0, 5))


def test_mistakes_are_named(written: Any) -> None:
    _, _, said = written.draw(50)
    with pytest.raises(ValueError, match=r"learned from noisy labels; pass Predictions\(labels=…\)"):
        PredictionGivenLabel().fit(said.replace(labels=None))
    with pytest.raises(ValueError, match="needs something that is known of x"):
        PredictionGivenLabel().fit(said.replace(features=None))
    with pytest.raises(NotFittedError, match="call fit first"):
        PredictionGivenLabel().transition(said, slice(0, 1))


def test_the_last_step_is_looked_at_however_few_there_are(written: Any) -> None:
    _, _, said = written.draw(50)
    learned = PredictionGivenLabel(hidden=4, steps=1, random_state=0).fit(said)
    assert np.isfinite(learned.likelihood_)


def test_the_learning_rate_falls_linearly(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, said = written.draw(50)
    rates: list[float] = []

    class Noted(torch.optim.Adam):
        def step(self, closure: Any = None) -> Any:
            rates.append(self.param_groups[0]["lr"])
            return super().step(closure)

    monkeypatch.setattr(torch.optim, "Adam", Noted)
    PredictionGivenLabel(hidden=4, steps=11, learning_rate=0.1, random_state=0).fit(said)
    expected = 0.1 * (1 - 0.99 * np.arange(11) / 11)
    np.testing.assert_allclose(rates, [*expected, *expected], rtol=1e-6)  # of both networks
