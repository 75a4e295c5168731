"""The consensus of several annotators, with and without features."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import spearmanr

import truelabel as tl
from truelabel.labels import Votes, consensus

N = 400
QUALITY = np.array([0.95, 0.85, 0.75, 0.65, 0.55, 0.5, 0.45, 0.45])
NAMES = ("cat", "dog", "elk")


@pytest.fixture(scope="module")
def crowd() -> SimpleNamespace:
    """400 points in three blobs that overlap a little; each has three votes of eight annotators, the last 20 none."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=N)
    x = (2.5 * np.eye(3, 5)[truth] + rng.normal(size=(N, 5))).astype(np.float32)
    right = rng.random((N, len(QUALITY))) < QUALITY
    matrix = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, 3, size=right.shape)) % 3)
    matrix[rng.random(right.shape).argsort(axis=1) >= 3] = -1
    matrix[-20:] = -1
    votes = Votes(
        matrix,
        annotators=[f"a{j}" for j in range(len(QUALITY))],
        class_names=NAMES,
        instances=[f"i{i}" for i in range(N)],
    )
    found = consensus(votes, x, progress=False)
    return SimpleNamespace(truth=truth, x=x, matrix=matrix, votes=votes, found=found)


def accuracy(labels: np.ndarray, crowd: SimpleNamespace, rows: slice = slice(0, N - 20)) -> float:
    return float(np.mean(labels[rows] == crowd.truth[rows]))


def test_features_beat_votes_alone_and_those_the_majority(crowd: SimpleNamespace) -> None:
    alone = consensus(crowd.votes)
    assert alone.expert_probs is None
    assert accuracy(alone.labels, crowd) > accuracy(crowd.votes.majority(), crowd) + 0.02
    assert accuracy(crowd.found.labels, crowd) > accuracy(alone.labels, crowd) + 0.05
    assert accuracy(crowd.found.labels, crowd) > 0.92


def test_instances_without_votes_get_their_label_by_features(crowd: SimpleNamespace) -> None:
    assert accuracy(crowd.found.labels, crowd, slice(N - 20, N)) > 0.6  # chance: a third
    rows = crowd.found.table.tail(20)
    assert (rows["votes"] == 0).all()
    assert rows["disagreement"].isna().all()


def test_the_table_has_a_row_per_instance(crowd: SimpleNamespace) -> None:
    found, table = crowd.found, crowd.found.table
    assert table["instance"].tolist() == [f"i{i}" for i in range(N)]
    assert table["consensus"].tolist() == np.array(NAMES)[found.labels].tolist()
    np.testing.assert_allclose(table["p"], found.probs.max(axis=1))
    given = crowd.matrix >= 0
    other = (given & (crowd.matrix != found.labels[:, None])).sum(axis=1)
    np.testing.assert_allclose(table["disagreement"][: N - 20], (other / 3)[: N - 20])
    asked = [int(name[1:]) for name in table["best_annotator"]]
    assert not given[np.arange(N), asked].any()


def test_the_annotators_are_ranked_as_they_are(crowd: SimpleNamespace) -> None:
    table = crowd.found.annotator_table
    assert spearmanr(table["quality"], QUALITY)[0] > 0.9
    assert table["votes"].tolist() == (crowd.matrix >= 0).sum(axis=0).tolist()
    assert (table["low"] < table["quality"]).all()
    assert (table["quality"] < table["high"]).all()
    true, given = table["most_confused"][7].split(" → ")
    confusion = crowd.found.annotators.confusion[7]
    assert table["confused"][7] == confusion[NAMES.index(true), NAMES.index(given)]


def test_what_needs_a_vote_is_likelier_to_be_wrong(crowd: SimpleNamespace) -> None:
    first = crowd.found.next_votes(50)
    assert first["needs_vote"].is_monotonic_decreasing
    wrong = crowd.found.labels != crowd.truth
    assert wrong[first.index].mean() > 3 * wrong.mean()


def test_a_classifier_counts_if_it_has_not_seen_the_labels(crowd: SimpleNamespace) -> None:
    probs = np.full((N, 3), 0.1) + 0.7 * np.eye(3)[crowd.truth]
    said = tl.Predictions(probs, class_names=NAMES, out_of_sample=True)
    found = consensus(crowd.votes, predictions=said, progress=False)
    assert found.weights["classifier"] > 1  # it is surer than it says
    assert accuracy(found.labels, crowd, slice(0, N)) > 0.99
    with_features = consensus(crowd.votes, crowd.x, predictions=said.replace(out_of_sample=False), progress=False)
    assert "classifier" not in with_features.weights
    np.testing.assert_array_equal(with_features.probs, crowd.found.probs)


def test_anonymous_counts_do(crowd: SimpleNamespace) -> None:
    votes = Votes.from_counts(crowd.votes.counts, class_names=NAMES)
    found = consensus(votes, {"points": crowd.x}, progress=False)
    assert accuracy(found.labels, crowd) > 0.88
    assert "best_annotator" not in found.table
    assert len(found.annotator_table) == 1
    assert set(found.weights) == {"points vote", "points head"}


def test_useless_features_do_no_harm(crowd: SimpleNamespace) -> None:
    noise = np.random.default_rng(1).normal(size=(N, 5)).astype(np.float32)
    alone, found = consensus(crowd.votes), consensus(crowd.votes, noise, progress=False)
    assert accuracy(found.labels, crowd) > accuracy(alone.labels, crowd) - 0.03


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"features": np.zeros((3, 2))}, r"features\['features'\] has 3 rows, but there are votes for 400 instances"),
        ({"features": np.full((N, 2), np.nan)}, "NaN or infinite value"),
        ({"predictions": tl.Predictions(np.full((N, 3), 1 / 3))}, "a classifier that saw the labels would only repeat"),
        ({"predictions": tl.Predictions(np.full((N, 2), 1 / 2))}, "predictions has 2 classes, but votes has 3"),
        (
            {"predictions": tl.Predictions(np.full((N, 3), 1 / 3), class_names=["dog", "cat", "elk"])},
            "the classes of predictions are dog, cat, elk, those of votes cat, dog, elk",
        ),
    ],
)
def test_mistakes_are_named(crowd: SimpleNamespace, arguments: dict, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        consensus(crowd.votes, **arguments)


def test_a_matrix_is_to_be_wrapped(crowd: SimpleNamespace) -> None:
    with pytest.raises(TypeError, match="wrap them first"):
        consensus(crowd.matrix)
