import numpy as np
import pytest

from truelabel.analysis import draw_gains, gains

# One instance for each region, in the order of the letters; 9 is a class that is never true.
TRUTH = np.arange(8)
LABELS = np.array([0, 1, 2, 3, 9, 9, 9, 9])
BEFORE = np.array([9, 9, 2, 3, 9, 9, 6, 7])
AFTER = np.array([9, 1, 2, 9, 9, 5, 6, 9])


def test_each_region_gets_the_instance_that_belongs_there() -> None:
    found = gains(TRUTH, LABELS, BEFORE, AFTER)
    assert {letter: list(rows) for letter, rows in found.regions.items()} == dict(
        zip("abcdefgh", [[k] for k in range(8)], strict=True)
    )


def test_the_paper_s_table_gives_the_paper_s_net_gain() -> None:
    counts = {"a": 8, "b": 89, "c": 39799, "d": 86, "e": 9035, "f": 949, "g": 15, "h": 19}
    rows = np.repeat(np.arange(8), list(counts.values()))
    found = gains(TRUTH[rows], LABELS[rows], BEFORE[rows], AFTER[rows])
    assert found.counts == counts
    assert (found.gained, found.lost, found.net) == (1038, 105, 933)


def test_the_table_lists_every_instance_once_in_order() -> None:
    order = np.array([5, 0, 7, 2, 2])
    table = gains(TRUTH[order], LABELS[order], BEFORE[order], AFTER[order]).table()
    assert table["row"].tolist() == [0, 1, 2, 3, 4]
    assert table["region"].tolist() == ["f", "a", "h", "c", "c"]
    assert table["meaning"][0] == "label wrong, classifier wrong, calibrated right"


def test_a_region_s_instances_change_accuracy_by_the_net_gain() -> None:
    rng = np.random.default_rng(0)
    truth, labels, before, after = rng.integers(3, size=(4, 1000))
    found = gains(truth, labels, before, after)
    assert found.net == np.sum(after == truth) - np.sum(before == truth)
    assert sum(found.counts.values()) == 1000


def test_the_figure_has_all_letters_and_counts() -> None:
    rows = np.repeat(np.arange(8), [11, 12, 13, 14, 15, 16, 17, 1800])
    figure = draw_gains(gains(TRUTH[rows], LABELS[rows], BEFORE[rows], AFTER[rows]), "digits")
    left, right = ({text.get_text() for text in axis.texts} for axis in figure.axes)
    assert {"(a)  11", "(b) gain\n12", "(c)\n13", "(d) loss\n14", "ŷ = y", "y* = y"} == left
    assert {"(e)  15", "(f) gain\n16", "(g)\n17", "(h) loss\n1,800", "ŷ = y", "y* = y"} == right
    assert figure.get_suptitle().startswith("digits\n")
    assert "net gain −1,786" in figure.get_suptitle()


def test_arrays_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="after has shape"):
        gains(TRUTH, LABELS, BEFORE, AFTER[:-1])
