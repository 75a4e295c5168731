import numpy as np
import pytest

from truelabel.analysis import draw_embedding, embedding


def concentrations(n: int, c: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    classes = np.arange(n) % c
    return 1 + 50 * np.eye(c)[classes] * rng.uniform(0.5, 2, size=(n, 1)) + rng.random((n, c)), classes


def test_posteriors_of_one_class_lie_together() -> None:
    alpha, classes = concentrations(150)
    found = embedding(alpha, seed=0)
    assert found.rows.tolist() == list(range(150))
    distance = np.linalg.norm(found.points[:, None] - found.points[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    assert np.mean(classes[distance.argmin(axis=1)] == classes) == 1


def test_a_seed_gives_the_same_sample_and_picture_and_another_seed_another() -> None:
    alpha, _ = concentrations(120)
    first, again, other = (embedding(alpha, most=40, seed=seed) for seed in (3, 3, 4))
    assert len(first.rows) == 40
    assert np.all(np.diff(first.rows) > 0)
    np.testing.assert_array_equal(first.rows, again.rows)
    np.testing.assert_array_equal(first.points, again.points)
    assert first.rows.tolist() != other.rows.tolist()


def test_the_scale_of_a_posterior_counts_by_ratio() -> None:
    # log α̂ keeps apart what differs by a factor of 1e4 in a class that does not lead.
    alpha = np.where(np.arange(60)[:, None] % 2, [1e8, 1e4, 1.0], [1e8, 1.0, 1.0]) * np.linspace(1, 1.1, 60)[:, None]
    points = embedding(alpha, seed=0, perplexity=10).points
    centres = points[::2].mean(axis=0), points[1::2].mean(axis=0)
    within = np.linalg.norm(points[::2] - centres[0], axis=1).max()
    assert np.linalg.norm(centres[0] - centres[1]) > within


def test_points_are_drawn_once_for_each_colouring_with_a_legend() -> None:
    points = np.arange(8.0).reshape(4, 2)
    figure = draw_embedding(points, {"ŷ": [0, 1, 1, 0], "y*": [0, 0, 2, 2]}, ["cat", "dog", "elk"])
    left, right = figure.axes
    assert [left.get_title(), right.get_title()] == ["ŷ", "y*"]
    np.testing.assert_array_equal(left.collections[1].get_offsets(), points[[1, 2]])
    np.testing.assert_array_equal(right.collections[2].get_offsets(), points[[2, 3]])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["cat", "dog", "elk"]


def test_what_cannot_be_embedded_is_refused() -> None:
    with pytest.raises(ValueError, match="not above 0"):
        embedding(np.zeros((10, 3)))
    with pytest.raises(ValueError, match="at least 4 instances"):
        embedding(np.ones((3, 3)))
