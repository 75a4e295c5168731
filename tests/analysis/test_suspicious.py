import numpy as np
import pytest

from truelabel.analysis import draw_suspicious, suspicious

PROBS = np.array([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.05, 0.0, 0.95], [0.4, 0.3, 0.3], [0.0, 0.99, 0.01]])
LABELS = np.array([0, 2, 0, 1, 2])


def test_contradicted_labels_come_by_falling_confidence() -> None:
    found = suspicious(LABELS, PROBS)
    assert found["row"].tolist() == [4, 2, 1, 3]
    assert found["label"].tolist() == [2, 0, 2, 1]
    assert found["prediction"].tolist() == [1, 2, 1, 0]
    np.testing.assert_allclose(found["confidence"], [0.99, 0.95, 0.7, 0.4])
    np.testing.assert_allclose(found["probability_of_label"], [0.01, 0.05, 0.1, 0.3])
    assert suspicious(LABELS, PROBS, most=2)["row"].tolist() == [4, 2]


def test_labels_that_are_all_believed_give_an_empty_table() -> None:
    assert len(suspicious(PROBS.argmax(1), PROBS)) == 0


def test_the_gallery_has_label_and_prediction_under_each_image() -> None:
    found = suspicious(LABELS, PROBS)
    images = np.random.default_rng(0).random((4, 1, 5, 5))
    figure = draw_suspicious(images, found, ["cat", "dog", "elk"], columns=3)
    captions = [text.get_text() for axis in figure.axes for text in axis.texts]
    assert captions == ["elk → dog\n99.0%", "cat → elk\n95.0%", "elk → dog\n70.0%", "dog → cat\n40.0%"]
    shown = [np.asarray(axis.images[0].get_array()) for axis in figure.axes if axis.images]
    np.testing.assert_allclose(shown, images[:, 0], rtol=1e-6)


def test_long_names_are_broken_over_two_lines() -> None:
    figure = draw_suspicious(np.zeros((1, 4, 4)), suspicious(LABELS, PROBS, most=1), ["T-shirt/top", "Bag", "Coat"])
    assert figure.axes[0].texts[0].get_text() == "Coat\n→ Bag\n99.0%"


@pytest.mark.parametrize(
    ("labels", "images", "complaint"),
    [(LABELS, 3, "3 images for 4 suspicious labels"), (PROBS.argmax(1), 0, "every prediction agrees")],
)
def test_galleries_that_cannot_be_drawn_are_refused(labels: np.ndarray, images: int, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        draw_suspicious(np.zeros((images, 4, 4)), suspicious(labels, PROBS))


def test_one_label_an_instance_is_needed() -> None:
    with pytest.raises(ValueError, match=r"labels has shape \(4,\)"):
        suspicious(LABELS[:4], PROBS)
