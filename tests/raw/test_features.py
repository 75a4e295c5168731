"""Principal components, words, and the classifiers that learn from them."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from truelabel.copies import find_copies
from truelabel.experts import heads
from truelabel.progress import Progress
from truelabel.raw import classifier, reduce
from truelabel.raw.reduce import principal, together
from truelabel.raw.text import topics, word_counts


@pytest.mark.parametrize("components", [3, 40])
def test_principal_components_are_those_of_the_singular_values(components: int) -> None:
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(200, 40)) * np.geomspace(10, 0.1, 40)).astype(np.float32)
    found = principal(x, components, 0)
    u, s, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(np.abs(found[:, :3]), np.abs(u[:, :3] * s[:3]), rtol=2e-2, atol=2e-2)
    assert found.shape == (200, components)


def test_principal_components_of_many_rows_are_found_on_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduce, "SAMPLE", 50)
    monkeypatch.setattr(reduce, "BLOCK", 7)
    x = np.random.default_rng(0).normal(size=(120, 5)).astype(np.float32)
    found = principal(x, 64, 0)
    assert found.shape == (120, 5)
    np.testing.assert_allclose(np.linalg.norm(found[3] - found[100]), np.linalg.norm(x[3] - x[100]), rtol=1e-4)


def test_features_put_together_weigh_the_same() -> None:
    rng = np.random.default_rng(0)
    joined = together(1000 * rng.normal(size=(50, 4)).astype(np.float32), rng.normal(size=(50, 9)).astype(np.float32))
    assert joined[:, :4].var(axis=0).sum() == pytest.approx(1, rel=1e-4)
    assert joined[:, 4:].var(axis=0).sum() == pytest.approx(1, rel=1e-4)


def test_texts_that_share_words_are_near_each_other() -> None:
    texts = ["rain and cloud", "cloud, much rain", "goal by the keeper", "the keeper and a goal"]
    reduced = topics(word_counts(texts), 2, 0)
    assert reduced.shape == (4, 2)
    np.testing.assert_allclose(np.linalg.norm(reduced, axis=1), 1, rtol=1e-5)
    near = reduced @ reduced.T
    assert near[0, 1] > near[0, 2]
    assert near[2, 3] > near[1, 2]


def test_texts_without_words_are_read_by_letters() -> None:
    assert word_counts(["猫", "犬", "! ?"]).shape[0] == 3


def problem(kind: str, right: bool) -> tuple[object, np.ndarray, np.ndarray]:
    """Return features of two clusters, the true classes, and labels that are right or drawn at random."""
    rng = np.random.default_rng(0)
    truth = np.arange(240) % 2
    x = rng.normal(size=(240, 12)).astype(np.float32) + 4 * truth[:, None].astype(np.float32) * (np.arange(12) < 2)
    if kind == "words":
        x = scipy.sparse.csr_matrix(np.maximum(x, 0))
    return x, truth, truth if right else rng.integers(2, size=240)


@pytest.mark.parametrize("kind", ["head", "words", "forest"])
def test_a_classifier_says_what_it_did_not_learn_by_heart(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classifier, "TREES", 60)
    learn = getattr(classifier, kind)
    with Progress(False) as progress:
        x, truth, labels = problem(kind, right=True)
        labels = labels.copy()
        labels[:40] = -1
        said = learn(x, labels, 3, 0, "cpu", progress)
        assert said.shape == (240, 3)
        assert said.dtype == np.float32
        np.testing.assert_allclose(said.sum(axis=1), 1, rtol=1e-5)
        assert (said > 0).all()
        assert np.mean(said.argmax(axis=1) == truth) > 0.97
        assert np.mean(said[:40].argmax(axis=1) == truth[:40]) > 0.97
        x, _, labels = problem(kind, right=False)
        said = learn(x, labels, 2, 0, "cpu", progress)
        assert 0.35 < np.mean(said.argmax(axis=1) == labels) < 0.65
        np.testing.assert_array_equal(said, learn(x, labels, 2, 0, "cpu", progress))


def test_a_class_with_all_its_instances_in_one_fold_is_survived() -> None:
    x = scipy.sparse.csr_matrix(np.eye(12))
    labels = np.array([0] * 5 + [1] * 5 + [2] * 2)
    with Progress(False) as progress:
        for seed in range(5):
            said = classifier.words(x, labels, 3, seed, "cpu", progress)
            np.testing.assert_allclose(said.sum(axis=1), 1, rtol=1e-5)


def test_words_with_very_many_classes_are_learned_by_their_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classifier, "MOST_COEFFICIENTS", 10)
    x, truth, labels = problem("words", right=True)
    with Progress(False) as progress:
        said = classifier.words(x, labels, 2, 0, "cpu", progress)
    assert np.mean(said.argmax(axis=1) == truth) > 0.95


class TestCopies:
    """Of 150 points of two classes thirty are there twice, with one wrong label: who has seen it repeats it."""

    @pytest.fixture
    def twice(self) -> SimpleNamespace:
        rng = np.random.default_rng(0)
        truth = rng.integers(2, size=150)
        rows = np.r_[np.arange(150), np.arange(30)]
        x = (rng.normal(size=(150, 5)) + 2 * truth[:, None])[rows].astype(np.float32)
        labels = np.where(rows < 30, 1 - truth[rows], truth[rows])
        return SimpleNamespace(x=x, labels=labels, copied=rows < 30, copies=find_copies({"x": x}))

    @pytest.mark.parametrize("learner", [classifier.forest, classifier.words])
    def test_the_classifier_has_not_seen_a_copy_of_what_it_is_asked_about(
        self, learner, twice: SimpleNamespace
    ) -> None:
        inputs = twice.x
        if learner is classifier.words:  # each text has a word of its own, which its copy has, too
            inputs = scipy.sparse.csr_matrix(np.c_[twice.x, 20 * np.eye(150)[np.r_[np.arange(150), np.arange(30)]]])
        wrong = {}
        for copies in (None, twice.copies):
            said = learner(inputs, twice.labels, 2, 0, "cpu", Progress(False), copies)
            np.testing.assert_allclose(said.sum(axis=1), 1, atol=1e-5)
            wrong[copies is None] = said[np.arange(180), twice.labels][twice.copied].mean()
        assert wrong[False] < wrong[True] - 0.05

    def test_networks_learn_with_copies_in_one_fold(
        self, twice: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        passed = {}

        def learn(*arguments: object, copies: object, **others: object) -> SimpleNamespace:
            passed["copies"] = copies
            return SimpleNamespace(said=np.full((180, 2), 0.5, dtype=np.float32))

        monkeypatch.setattr(heads, "out_of_fold", learn)
        classifier.head(twice.x, twice.labels, 2, 0, "cpu", Progress(False), twice.copies)
        assert passed["copies"] is twice.copies
