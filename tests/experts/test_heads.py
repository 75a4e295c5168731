import numpy as np
import pytest
import torch

from truelabel.copies import Copies, find_copies
from truelabel.experts import heads as heads_module
from truelabel.experts.heads import FoldHeads, HeadSettings, out_of_fold
from truelabel.progress import Progress
from truelabel.scale import Scale, moments

ONE_EPOCH = HeadSettings(epochs=1, least_steps=1)


def foretold_by(x, labels, c, *, reference=None, seed=0, settings=None, swaps=False, copies=None):
    torch.manual_seed(seed)
    return out_of_fold(
        x,
        Scale("columns", *moments(x)),
        labels,
        np.arange(len(x)) if reference is None else reference,
        c,
        device=torch.device("cpu"),
        seed=seed,
        progress=Progress(False),
        settings=settings,
        swaps=swaps,
        copies=copies,
    )


def foretold(*arguments, **settings):
    return foretold_by(*arguments, **settings).said


def test_no_row_is_foretold_by_a_head_that_saw_its_label(problem):
    """With the number of epochs given, as its choice looks at all labels."""
    made = problem(n=60)
    before = foretold(made.x, made.noisy, 3, settings=ONE_EPOCH)
    for row in (0, 7, 31, 59):
        flipped = made.noisy.copy()
        flipped[row] = (flipped[row] + 1) % 3
        after = foretold(made.x, flipped, 3, settings=ONE_EPOCH)
        np.testing.assert_array_equal(after[row], before[row])
        assert np.abs(after - before).max() > 1e-4


class TestCopies:
    @pytest.fixture
    def twice(self, problem):
        made = problem(n=80, d=6)
        rows = np.r_[np.arange(80), np.arange(20)]
        return made.x[rows], made.noisy[rows], find_copies({"x": made.x[rows]})

    @pytest.mark.parametrize("reference", [np.arange(100), np.arange(80)])
    def test_no_row_is_foretold_by_a_head_that_saw_the_label_of_a_copy(self, twice, reference):
        x, labels, copies = twice
        assert len(copies) == 20
        settings = {"settings": ONE_EPOCH, "copies": copies, "reference": reference}
        before = foretold(x, labels, 3, **settings)
        for row in (0, 7, 19):
            flipped = labels.copy()
            flipped[row] = (flipped[row] + 1) % 3
            after = foretold(x, flipped, 3, **settings)
            np.testing.assert_array_equal(after[[row, 80 + row]], before[[row, 80 + row]])
            assert np.abs(after - before).max() > 1e-4

    def test_copies_elsewhere_change_nothing(self, problem):
        made = problem(n=80)
        nowhere = Copies(np.full(80, -1), np.zeros(0, dtype=bool), np.zeros(0))
        without, beside = (
            foretold(made.x, made.noisy, 3, settings=ONE_EPOCH, reference=np.arange(60), copies=copies)
            for copies in (None, nowhere)
        )
        np.testing.assert_array_equal(without, beside)


def test_heads_fit_random_labels_no_better_than_chance(problem):
    made = problem(n=200)
    labels = np.random.default_rng(0).integers(3, size=200)
    found = foretold(made.x, labels, 3)
    assert (found.argmax(axis=1) == labels).mean() < 0.45
    assert -np.log(found[np.arange(200), labels]).mean() > 1.05


def test_heads_see_through_noisy_labels_of_blobs(problem):
    made = problem(n=200)
    found = foretold(made.x, made.noisy, 3)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    assert (found.argmax(axis=1) == made.truth).mean() > 0.95
    assert -np.log(found[np.arange(200), made.noisy]).mean() < 0.95


@pytest.mark.parametrize("n", [2, 3, 10])
def test_very_few_rows_are_enough(problem, n):
    found = foretold(*(problem(n=n, c=2).__dict__[part] for part in ("x", "noisy")), 2)
    assert found.shape == (n, 2)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)


def test_rows_outside_the_reference_get_the_mean_of_all_heads(problem):
    made = problem(n=200)
    reference = np.arange(0, 200, 2)
    twin = made.x.copy()
    twin[1] = twin[0]  # row 1 is outside the reference and equal to row 0, which is in it
    found = foretold(twin, made.noisy, 3, reference=reference)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    assert (found[1::2].argmax(axis=1) == made.truth[1::2])[1:].mean() > 0.95
    assert not np.array_equal(found[0], found[1])
    relabelled = made.noisy.copy()
    relabelled[1::2] = 0
    np.testing.assert_array_equal(foretold(twin, relabelled, 3, reference=reference), found)


@pytest.mark.parametrize("settings", [ONE_EPOCH, None], ids=["one epoch", "until patience ends"])
def test_the_heads_are_those_that_foretold(problem, settings):
    """A reference row is foretold by one of five heads, twenty rows by each; any other row by the mean of all."""
    made = problem(n=200)
    reference = np.arange(0, 200, 2)
    found, heads, _ = foretold_by(made.x, made.noisy, 3, reference=reference, settings=settings)
    mean, deviation = moments(made.x)
    with torch.no_grad():
        each = torch.softmax(heads(torch.from_numpy((made.x - mean) / deviation)), dim=2).numpy()
    np.testing.assert_allclose(found[1::2], each.mean(axis=0)[1::2], atol=1e-5)
    same = (np.abs(each[:, reference] - found[reference]) < 1e-5).all(axis=2)
    assert same.sum(axis=0).tolist() == [1] * 100
    assert same.sum(axis=1).tolist() == [20] * 5


def test_the_heads_are_those_of_the_best_epoch_out_of_fold(problem):
    """Heads that train on for long overfit the noise; the ones kept are as good as those stopped in time."""
    made = problem(n=150, rate=0.4)
    rows = np.arange(150)

    def loss(settings):
        found = foretold(made.x, made.noisy, 3, settings=settings)
        return -np.log(np.maximum(found[rows, made.noisy], 1e-6)).mean()

    by_epochs = [loss(HeadSettings(epochs=e, least_steps=1, patience=1000)) for e in range(1, 9)]
    assert by_epochs == sorted(by_epochs, reverse=True)
    assert loss(HeadSettings(epochs=60, least_steps=1, patience=1000)) <= by_epochs[-1]


class TestThroughSwaps:
    """Two labels in five are swapped with the next class, along lines that cut a square into stripes."""

    @staticmethod
    def striped(n: int = 1500):
        x = np.random.default_rng(0).uniform(0, 3, size=(n, 2)).astype(np.float32)
        truth = x[:, 0].astype(np.int64)
        nearest = np.clip(np.round(x[:, 0]), 1, 2)
        swapped = np.abs(x[:, 0] - nearest) < 0.3
        other = np.where(x[:, 0] < nearest, truth + 1, truth - 1)
        return x, truth, np.where(swapped, other, truth)

    def test_heads_speak_of_labels_before_they_are_swapped(self):
        x, truth, noisy = self.striped()
        assert np.mean(noisy == truth) == pytest.approx(0.6, abs=0.02)
        found, heads, swaps = foretold_by(x, noisy, 3, swaps=True)
        assert (found.argmax(axis=1) == truth).mean() > 0.9
        assert (swaps.at(found).exchange(found).argmax(axis=1) == noisy).mean() > 0.85
        with torch.no_grad():
            spoken = heads(torch.from_numpy(Scale("columns", *moments(x))(x))).softmax(dim=2).mean(dim=0)
        assert (spoken.argmax(dim=1).numpy() == truth).mean() > 0.9

    def test_swaps_are_those_of_the_best_epoch(self):
        """Through the swaps that come back, labels are as likely as they ever were out of fold."""
        x, _, noisy = self.striped()

        def loss(epochs):
            settings = HeadSettings(epochs=epochs, patience=1000)
            found, _, swaps = foretold_by(x, noisy, 3, settings=settings, swaps=True)
            return -np.log(swaps.at(found).exchange(found)[np.arange(len(x)), noisy]).mean()

        assert loss(60) <= min(loss(epochs) for epochs in (34, 40, 50)) + 1e-5

    def test_swaps_that_grow_faint_are_given_up(self, monkeypatch):
        """Then the heads are those that were never asked to learn through swaps."""
        x, _, noisy = self.striped()
        monkeypatch.setattr(heads_module, "FAINT", 1.0)
        found, _, swaps = foretold_by(x, noisy, 3, swaps=True)
        assert swaps is None
        np.testing.assert_array_equal(found, foretold(x, noisy, 3))

    def test_heads_without_swaps_stop_where_the_others_are_far_ahead(self, monkeypatch):
        """Heads that learn through swaps do not depend on when the others stop."""
        x, _, noisy = self.striped()
        epochs = []
        monkeypatch.setattr(
            heads_module._Learning,
            "learn",
            lambda one, *args, learn=heads_module._Learning.learn: (
                epochs.append(one.swaps is None) or learn(one, *args)
            ),
        )
        both, early = [], []
        for found, errors in ((both, np.inf), (early, 5.0)):
            epochs.clear()
            monkeypatch.setattr(heads_module, "BEYOND_DOUBT", errors)
            found += [foretold(x, noisy, 3, swaps=True), sum(epochs)]
        np.testing.assert_array_equal(both[0], early[0])
        assert early[1] < both[1] / 2

    def test_heads_are_the_same_where_nothing_is_swapped(self, problem):
        made = problem(n=200)
        found, _, swaps = foretold_by(made.x, made.noisy, 3, swaps=True)
        assert swaps is None
        np.testing.assert_array_equal(found, foretold(made.x, made.noisy, 3))


def test_the_heads_of_all_folds_are_networks_of_their_own():
    torch.manual_seed(0)
    heads = FoldHeads(3, 4, 6, 2)
    x = torch.randn(5, 4)
    together = heads(x)
    for f in range(3):
        hidden = torch.relu(x @ heads.first[f] + heads.first_bias[f])
        torch.testing.assert_close(together[f], hidden @ heads.last[f] + heads.last_bias[f])
    together[1].sum().backward()
    assert (heads.first.grad[[0, 2]] == 0).all()
    assert (heads.first.grad[1] != 0).any()
