"""All experts together: who is asked, who is needed, and what each counts."""

import numpy as np
import pytest
import torch

from truelabel.experts import panel as panel_module
from truelabel.experts.heads import FoldHeads, HeadSettings
from truelabel.experts.panel import Panel, PanelSettings
from truelabel.label_noise.swaps import Swapped, Swaps
from truelabel.pool import likelihood_weights
from truelabel.progress import Progress

QUICK = HeadSettings(epochs=3, least_steps=30)


def ask(views, labels, c=3, seed=0, **settings) -> Panel:
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    settings = PanelSettings(**({"heads": QUICK} | settings))
    return Panel.ask(views, labels, c, rng, settings, torch.device("cpu"), seed, Progress(False))


@pytest.fixture(scope="module")
def made(problem):
    return problem(n=300)


@pytest.fixture(scope="module")
def two(made):
    """A view that knows the class, and one of noise."""
    noise = np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32)
    return ask({"noise": noise, "signal": made.x}, made.noisy)


class TestWhoIsAsked:
    def test_a_vote_and_a_head_on_each_view(self, two):
        assert two.names == [("noise", "vote"), ("noise", "head"), ("signal", "vote"), ("signal", "head")]
        assert list(two.votes) == list(two.heads) == ["noise", "signal"]
        for said in two.foretold:
            assert said.shape == (300, 3)
            np.testing.assert_allclose(said.sum(axis=1), 1, atol=1e-5)

    def test_without_votes_neighbours_choose_the_scale_alone(self, made):
        panel = ask({"signal": made.x}, made.noisy, votes=False)
        assert panel.names == [("signal", "head")]
        assert panel.votes["signal"].scale.name == "whole"

    def test_without_swaps_heads_learn_none(self):
        """Two labels in five are swapped with the next class, along lines that cut a square into stripes."""
        x = np.random.default_rng(0).uniform(0, 3, size=(1500, 2)).astype(np.float32)
        truth, nearest = x[:, 0].astype(np.int64), np.clip(np.round(x[:, 0]), 1, 2)
        other = np.where(x[:, 0] < nearest, truth + 1, truth - 1)
        noisy = np.where(np.abs(x[:, 0] - nearest) < 0.3, other, truth)
        found = {swaps: ask({"x": x}, noisy, swaps=swaps, heads=HeadSettings()).swaps["x"] for swaps in (True, False)}
        assert found[True] is not None
        assert found[False] is None

    def test_neighbours_and_references_are_as_many_as_set(self, made):
        panel = ask({"signal": made.x}, made.noisy, k=7, reference=100)
        assert panel.votes["signal"].k == 7
        assert len(panel.reference) == pytest.approx(100, abs=2)


class TestWhoIsNeeded:
    def test_a_view_of_noise_is_left_out(self, two, made):
        needed = two.needed(made.noisy, np.arange(300))
        assert needed.names == [("signal", "vote"), ("signal", "head")]
        assert list(needed.votes) == list(needed.heads) == ["signal"]
        np.testing.assert_array_equal(needed.foretold[0], two.foretold[2])
        assert len(two.names) == 4

    def test_a_view_that_says_the_same_again_is_left_out(self, made):
        panel = ask({"a": made.x, "b": made.x}, made.noisy)
        assert len(panel.needed(made.noisy, np.arange(300)).votes) == 1

    def test_views_that_each_know_a_part_are_both_needed(self):
        rng = np.random.default_rng(0)
        truth = rng.integers(4, size=400)
        bits = {"row": truth % 2, "column": truth // 2}
        views = {name: (rng.normal(size=(400, 2)) + 5 * bit[:, None]).astype(np.float32) for name, bit in bits.items()}
        panel = ask(views, truth, 4)
        assert list(panel.needed(truth, np.arange(400)).votes) == ["row", "column"]

    def test_one_view_is_needed_even_where_it_knows_nothing(self, made):
        noise = np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32)
        alone, several = ask({"noise": noise}, made.noisy), ask({"noise": noise, "more": noise[:, :2]}, made.noisy)
        assert list(alone.needed(made.noisy, np.arange(300)).votes) == ["noise"]
        assert len(several.needed(made.noisy, np.arange(300)).votes) == 1


class TestWeights:
    def test_they_are_those_that_labels_of_these_rows_choose(self, two, made):
        rows = np.arange(0, 300, 2)
        expected = likelihood_weights([p[rows] for p in two.foretold], made.noisy[rows])
        np.testing.assert_allclose(two.weights(made.noisy, rows), expected)

    def test_a_classifier_that_saw_the_labels_comes_last(self, two, made):
        memorised = made.said.probs
        weights = two.weights(made.noisy, np.arange(300), memorised)
        assert len(weights) == 5
        assert weights[-1] > weights[:-1].sum()

    def test_a_classifier_that_has_not_seen_them_is_one_of_the_experts(self, two, made):
        joined = two.joined_by(made.said.probs)
        assert joined.names[-1] == ("classifier", "")
        assert joined.foretold[-1] is made.said.probs
        assert joined.by_name(np.arange(5))["classifier"] == 4
        assert len(two.names) == 4

    def test_by_name_and_by_view(self, two):
        weights = np.array([0.1, 0.2, 0.3, 0.4], dtype=np.float32)
        by_name = {"noise vote": 0.1, "noise head": 0.2, "signal vote": 0.3, "signal head": 0.4}
        assert two.by_name(weights) == pytest.approx(by_name)
        assert two.by_view(weights) == pytest.approx({"noise": 0.3, "signal": 0.7})
        assert two.joined_by(two.foretold[0]).by_view(np.append(weights, 9)) == pytest.approx(
            {"noise": 0.3, "signal": 0.7}
        )

    def test_heads_are_weighed_by_what_they_say_after_swaps(self):
        """They know the label before, and every label of the two likeliest classes is swapped."""
        labels = np.arange(90) % 3
        before = (0.7 * np.eye(3)[(labels + 1) % 3] + 0.2 * np.eye(3)[labels] + 0.1 / 3).astype(np.float32)
        swaps = Swaps()
        with torch.no_grad():
            swaps.weights.copy_(torch.tensor([9.0, 0.0, -9.0]))
        panel = Panel([("x", "head")], [before], {}, {}, {"x": swaps}, np.arange(90))
        plain = Panel([("x", "head")], [before], {}, {}, {"x": None}, np.arange(90))
        assert panel.weights(labels, np.arange(90))[0] > 1
        assert plain.weights(labels, np.arange(90))[0] < 0.5


class TestSwaps:
    said = np.array([[0.6, 0.3, 0.1], [0.1, 0.5, 0.4]], dtype=np.float32)

    def panel(self, swaps) -> Panel:
        names = [("a", "vote"), ("a", "head"), ("b", "head")]
        return Panel(names, [self.said] * 3, {}, {}, {"a": None, "b": swaps}, np.arange(2))

    def test_they_are_those_of_the_head_that_has_most_weight(self):
        panel = self.panel(Swaps())
        assert panel.swapped(np.array([9.0, 0.5, 0.2])) is None
        np.testing.assert_array_equal(panel.swapped(np.array([9.0, 0.2, 0.5])).pair, [[0, 1], [1, 2]])

    def test_votes_are_led_back_to_labels_before_swaps_and_heads_speak_of_these(self):
        panel = self.panel(Swaps())
        certain = Swapped(np.array([[0, 1], [1, 2]]), np.ones(2, dtype=np.float32))
        vote, *heads = panel.before_swaps(certain)
        np.testing.assert_allclose(vote, [[0.3, 0.6, 0.1], [0.1, 0.4, 0.5]])
        assert all(head is self.said for head in heads)
        assert panel.before_swaps(None) is panel.foretold


class TestVotingAgain:
    def test_views_count_as_much_as_they_weigh(self, two, made):
        believed = np.eye(3, dtype=np.float32)[made.truth]
        each = {name: vote.of_beliefs(believed) for name, vote in two.votes.items()}
        found = two.vote_again(believed, {"noise": 0.5, "signal": 1.5})
        np.testing.assert_allclose(found, 0.25 * each["noise"] + 0.75 * each["signal"], atol=1e-6)

    def test_a_view_without_weight_is_not_asked(self, two, made, monkeypatch):
        monkeypatch.setattr(two.votes["noise"], "of_beliefs", lambda believed: 1 / 0, raising=False)
        believed = np.eye(3, dtype=np.float32)[made.truth]
        found = two.vote_again(believed, {"noise": 0.0, "signal": 2.0})
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)


class TestContradictions:
    """Heads on new instances, each by itself."""

    def test_who_says_what_heads_say_contradicts_hardly_any(self, two, problem):
        new = problem(n=100, seed=5)
        views = {"noise": np.zeros((100, 5), dtype=np.float32), "signal": new.x}
        weights = np.array([0, 0, 0.5, 0.5])
        assert two.contradicts(views, new.truth, weights) < 0.1
        assert two.contradicts(views, (new.truth + 1) % 3, weights) > 0.9

    def test_it_is_the_mean_over_heads_of_the_best_view(self, problem):
        """Of two heads on one number one says the class of its sign, the other the opposite."""
        heads = FoldHeads(2, 1, 2, 2)
        with torch.no_grad():
            heads.first.copy_(torch.tensor([[[1.0, -1.0]], [[1.0, -1.0]]]))
            heads.last.copy_(torch.stack([torch.eye(2), torch.eye(2).flip(0)]))
        x = np.array([[-1.0], [-2.0], [1.0], [2.0]], dtype=np.float32)
        vote = ask({"x": x.repeat(5, axis=0)}, np.arange(20) % 2, 2).votes["x"]
        panel = Panel([("x", "vote"), ("x", "head")], [], {"x": vote}, {"x": heads}, {"x": None}, np.arange(4))
        assert panel.contradicts({"x": x}, np.array([0, 0, 1, 1]), np.array([0.5, 0.5])) == pytest.approx(0.5)
        with torch.no_grad():
            heads.last.copy_(torch.stack([torch.eye(2).flip(0)] * 2))
        assert panel.contradicts({"x": x}, np.array([1, 1, 0, 1]), np.array([0.5, 0.5])) == pytest.approx(0.75)


class TestCopies:
    def test_they_are_looked_for_in_all_views_and_do_not_vouch(self, made):
        """Each of the first 60 points is there twice with one label; the labels of half of them are wrong."""
        rows = np.r_[np.arange(300), np.arange(60)]
        labels = np.where(rows < 30, (made.truth[rows] + 1) % 3, made.truth[rows])
        panel = ask({"signal": made.x[rows]}, labels)
        said = panel.foretold[0][rows < 30]
        assert (said.argmax(axis=1) == made.truth[rows[rows < 30]]).mean() > 0.9
        fold_free = panel.foretold[1]
        assert np.abs(fold_free[:60] - fold_free[300:]).max() < 1e-6

    def test_without_any_nothing_is_different_from_not_looking(self, made, two, monkeypatch):
        monkeypatch.setattr(panel_module, "find_copies", lambda views, reference: None)
        again = ask(
            {"noise": np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32), "signal": made.x}, made.noisy
        )
        for said, before in zip(again.foretold, two.foretold, strict=True):
            np.testing.assert_array_equal(said, before)
