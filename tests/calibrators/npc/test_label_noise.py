import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truelabel.calibrators.npc.label_noise import denoise, estimate_transition, given_label, matching_sharpness

SYMMETRIC = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
ASYMMETRIC = np.array([[0.6, 0.4, 0, 0], [0, 0.7, 0.3, 0], [0, 0, 0.95, 0.05], [0.2, 0.1, 0, 0.7]])


def drawn(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random((len(rows), 1)) > rows.cumsum(axis=1)).sum(axis=1).clip(max=rows.shape[1] - 1)


def labelled(transition: np.ndarray, n: int = 20_000, seed: int = 0):
    """p(y | x) of which a part is sure of itself, labels through T, and p(ỹ | x) = p(y | x) T."""
    rng = np.random.default_rng(seed)
    c = len(transition)
    clean = rng.dirichlet(np.full(c, 0.1), size=n)
    truth = drawn(clean, rng)
    labels = drawn(transition[truth], rng)
    return clean.astype(np.float32), truth, labels, (clean @ transition).astype(np.float32)


@pytest.mark.parametrize("transition", [SYMMETRIC, ASYMMETRIC], ids=["symmetric", "asymmetric"])
def test_a_known_transition_is_recovered_from_good_beliefs_within_four_points(transition):
    _, truth, labels, believed = labelled(transition)
    found, shares = estimate_transition(believed, labels)
    np.testing.assert_allclose(found, transition, atol=0.04)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(shares, np.bincount(truth) / len(truth), atol=0.05)


def test_without_noise_the_transition_is_the_identity():
    clean, _, _, _ = labelled(SYMMETRIC)
    found, _ = estimate_transition(clean, clean.argmax(axis=1))
    np.testing.assert_allclose(found, np.eye(4), atol=0.01)


def test_mistakes_of_few_instances_are_spread_evenly_as_far_as_chance_explains_them():
    """Twenty instances with three mistakes on three classes say nothing about where mistakes go."""
    believed = np.tile(np.array([0.7, 0.1, 0.1, 0.1], dtype=np.float32), (20, 1))
    even = estimate_transition(believed, np.array([0] * 17 + [1, 2, 3]))[0][0]
    np.testing.assert_allclose(even[1:], (1 - even[0]) / 3)
    one_way = estimate_transition(believed, np.array([0] * 10 + [1] * 10))[0][0]
    assert one_way[1] > 5 * one_way[2]


def test_a_class_nobody_is_believed_to_be_of_keeps_its_labels():
    believed = np.array([[0.8, 0.2, 0.0]] * 10 + [[0.2, 0.8, 0.0]] * 10, dtype=np.float32)
    found, shares = estimate_transition(believed, np.array([0] * 10 + [1] * 10))
    np.testing.assert_allclose(found[2], [0, 0, 1])
    assert 0 < shares[2] < 0.002
    assert shares.sum() == pytest.approx(1)


def block(y: int, c: int, sure: float, labels: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Rows believed to be of class y, `sure` each, and how many have which label."""
    believed = np.full((sum(labels.values()), c), (1 - sure) / (c - 1), dtype=np.float32)
    believed[:, y] = sure
    return believed, np.repeat(list(labels), list(labels.values()))


def together(*blocks):
    return tuple(np.concatenate(parts) for parts in zip(*blocks, strict=True))


def test_only_the_surest_fifth_and_what_is_nearly_as_sure_is_counted():
    """Of 300 rows 60 are the surest fifth; 10 more come within a twentieth; 230 with other labels do not."""
    sure = block(0, 2, 0.9, {0: 45, 1: 15})
    close = block(0, 2, 0.87, {1: 10})
    unsure = block(0, 2, 0.8, {0: 30, 1: 200})
    other = block(1, 2, 0.9, {1: 50})
    found, shares = estimate_transition(*together(sure, close, unsure, other))
    right = (45 + 0.5) / (70 + 0.5 + 0.25)
    np.testing.assert_allclose(found[0], [right, 1 - right])
    np.testing.assert_allclose(shares, [300 / 350, 50 / 350])


def test_fifty_are_counted_where_a_fifth_would_be_fewer():
    sure = block(0, 2, 0.9, {0: 20})
    less = block(0, 2, 0.8, {0: 10, 1: 20})
    least = block(0, 2, 0.6, {1: 40})
    found, _ = estimate_transition(*together(sure, less, least, block(1, 2, 0.9, {1: 50})))
    assert found[0, 0] == pytest.approx((30 + 0.5) / (50 + 0.5 + 0.25))


TWO_CLASSES = together(block(0, 2, 0.9, {0: 70, 1: 30}), block(1, 2, 0.9, {0: 20, 1: 80}))
# Somebody contradicts 5 right and 15 wrong labels of class 0, and 10 wrong ones of class 1.
CONTRADICTED = np.repeat([False, True, False, True, True, False], [65, 5, 15, 15, 10, 90])


@pytest.mark.parametrize(
    ("contradicted", "first", "second"), [(None, (70, 30), (80, 20)), (CONTRADICTED.__getitem__, (65, 15), (80, 10))]
)
def test_what_is_contradicted_is_not_counted(contradicted, first, second):
    """Two classes are too few for any evening out, so the counts of right and wrong labels are T."""
    found, shares = estimate_transition(*TWO_CLASSES, contradicted=contradicted)
    for y, (right, wrong) in enumerate((first, second)):
        assert found[y, y] == pytest.approx((right + 0.5) / (right + wrong + 0.5 + 0.25))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(shares, 0.5)


def counted(right: list[int], of: int = 50):
    """Beliefs and labels of one class for each number of right labels, the wrong ones spread evenly."""
    c = len(right)
    blocks = []
    for y, r in enumerate(right):
        others = [j for j in range(c) if j != y]
        wrong = {j: (of - r + i) // (c - 1) for i, j in enumerate(others)}
        blocks.append(block(y, c, 0.9, {y: r} | wrong))
    return together(*blocks)


def test_diagonals_that_chance_explains_are_evened_out():
    """Ten rows of 50 with 31 to 39 right labels spread less than chance would have it: χ² is 4.4 where 7 is even."""
    found, _ = estimate_transition(*counted([31, 33, 34, 35, 35, 35, 35, 36, 37, 39]))
    np.testing.assert_allclose(np.diag(found), 0.7, atol=1e-9)


def test_diagonals_that_chance_does_not_explain_stay_apart():
    """45 and 20 right labels of 50: rates 45.5/50.55 and 20.5/50.55, χ² 134.4, so 7/134.4 of the way to 0.65."""
    found, _ = estimate_transition(*counted([45, 20] * 5))
    np.testing.assert_allclose(np.diag(found), [0.887, 0.418] * 5, atol=1e-3)


def test_symmetric_noise_on_few_instances_gives_diagonals_closer_than_they_are_counted():
    """Fifty instances of each of ten classes: the counts have a deviation of 0.065, the estimates half of it."""
    rng = np.random.default_rng(0)
    counts, estimates = [], []
    for _ in range(20):
        right = rng.binomial(50, 0.7, size=10)
        counts.append(right / 50)
        estimates.append(np.diag(estimate_transition(*counted(right.tolist()))[0]))
    assert np.std(counts, axis=1).mean() > 0.055
    assert np.std(estimates, axis=1).mean() < 0.03
    np.testing.assert_allclose(np.mean(estimates), np.mean(counts), atol=0.01)


def test_three_classes_are_too_few_to_be_evened_out():
    found, _ = estimate_transition(*counted([34, 35, 36]))
    np.testing.assert_allclose(np.diag(found), (np.array([34, 35, 36]) + 0.5) / (50 + 0.5 + 0.5 / 3))


@pytest.mark.parametrize("transition", [SYMMETRIC, ASYMMETRIC], ids=["symmetric", "asymmetric"])
def test_denoising_undoes_the_transition(transition):
    clean, _, _, believed = labelled(transition, 500)
    found = denoise(believed, transition)
    assert np.abs(found - clean).mean() < 0.005
    np.testing.assert_allclose(found @ transition, believed, atol=0.02)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    assert np.abs(believed - clean).mean() > 0.05


def test_denoising_finds_the_distribution_that_explains_the_belief():
    clean = np.array([0.4, 0.3, 0.2, 0.1])
    found = denoise((clean @ ASYMMETRIC).astype(np.float32)[None], ASYMMETRIC)
    np.testing.assert_allclose(found[0], clean, atol=1e-5)


def test_denoising_comes_within_two_points_of_a_sure_class():
    found = denoise(SYMMETRIC.astype(np.float32), SYMMETRIC)
    np.testing.assert_allclose(found, np.eye(4), atol=0.02)


def test_denoising_stays_a_distribution_where_no_distribution_explains_the_belief():
    found = denoise(np.array([[1.0, 0, 0, 0]], dtype=np.float32), SYMMETRIC)
    np.testing.assert_allclose(found, [[1, 0, 0, 0]], atol=1e-3)


def test_denoising_works_for_a_thousand_classes():
    c = 1000
    transition = np.full((c, c), 0.3 / (c - 1)) + (0.7 - 0.3 / (c - 1)) * np.eye(c)
    found = denoise(transition[:3].astype(np.float32), transition)
    assert found.argmax(axis=1).tolist() == [0, 1, 2]
    assert found.max(axis=1).min() > 0.9


def test_the_belief_given_a_label_is_bayes_rule_by_hand():
    clean = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], dtype=np.float32)
    transition = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.3, 0.3, 0.4]])
    found = given_label(clean, transition, np.array([1, 0]), 1.0)
    first = np.array([0.5 * 0.1, 0.3 * 0.6, 0.2 * 0.3])
    second = np.array([0.1 * 0.8, 0.1 * 0.2, 0.8 * 0.3])
    np.testing.assert_allclose(found, [first / first.sum(), second / second.sum()], rtol=1e-5)
    sharper = given_label(clean, transition, np.array([1, 0]), 2.0)
    first = np.array([0.5**2 * 0.1, 0.3**2 * 0.6, 0.2**2 * 0.3])
    np.testing.assert_allclose(sharper[0], first / first.sum(), rtol=1e-5)


@given(st.integers(0, 2**32 - 1), st.floats(1, 8))
@settings(max_examples=25, deadline=None)
def test_the_belief_given_a_label_is_on_the_simplex(seed, sharpness):
    clean, _, labels, _ = labelled(ASYMMETRIC, 20, seed)
    found = given_label(clean, ASYMMETRIC, labels, sharpness)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)


def test_beliefs_that_are_right_need_no_sharpening():
    clean, truth, labels, _ = labelled(SYMMETRIC)
    shares = np.bincount(truth) / len(truth)
    assert matching_sharpness(clean, SYMMETRIC, shares, labels) == pytest.approx(1, abs=0.1)


def test_flat_beliefs_are_sharpened_until_labels_prove_right_as_often_as_the_transition_says():
    clean, truth, labels, _ = labelled(SYMMETRIC)
    shares = np.bincount(truth) / len(truth)
    flat = clean ** np.float32(1 / 3)
    flat /= flat.sum(axis=1, keepdims=True)
    sharpness = matching_sharpness(flat, SYMMETRIC, shares, labels)
    assert sharpness == pytest.approx(3, abs=0.3)
    agreeing = given_label(flat, SYMMETRIC, labels, sharpness)[np.arange(len(labels)), labels].mean()
    assert agreeing == pytest.approx(0.7, abs=0.005)


def test_sharpening_ends_at_eight():
    """Beliefs that hold the label right as often as not, while T says that labels are mostly wrong."""
    labels = np.arange(200) % 4
    flat = np.full((200, 4), 0.24, dtype=np.float32)
    flat[np.arange(200), labels] = 0.28
    transition = np.full((4, 4), 0.2) + 0.2 * np.eye(4)
    assert matching_sharpness(flat, transition, np.full(4, 0.25), labels) == 8


@pytest.mark.parametrize("rate", [0.2, 0.4])
def test_the_pieces_together_find_most_wrong_labels(rate):
    transition = np.full((4, 4), rate / 3) + (1 - rate * 4 / 3) * np.eye(4)
    _, truth, labels, believed = labelled(transition, 4000)
    found, shares = estimate_transition(believed, labels)
    clean = denoise(believed, found)
    belief = given_label(clean, found, labels, matching_sharpness(clean, found, shares, labels))
    assert (belief.argmax(axis=1) == truth).mean() > (labels == truth).mean() + 0.5 * rate


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({0: 40, 1: 60}, (0.5, 0.5, 0)),
        ({0: 10, 1: 50, 2: 40}, (1 / 3, 1 / 3, 1 / 3)),
        ({0: 25, 1: 51, 2: 24}, (0.38, 0.38, 0.24)),
        ({0: 20, 1: 60, 2: 20}, (0.4, 0.4, 0.2)),
        ({0: 15, 1: 60, 2: 25}, (0.375, 0.375, 0.25)),
        ({0: 50, 1: 49, 2: 1}, (0.5, 0.49, 0.01)),
    ],
)
def test_no_label_is_likelier_than_the_right_one(labels, expected):
    """Likelier ones share with it; other classes have so many right labels that nothing else is evened out."""
    said = together(block(0, 3, 0.9, labels), block(1, 3, 0.9, {1: 100}), block(2, 3, 0.9, {2: 100}))
    found, _ = estimate_transition(*said)
    np.testing.assert_allclose(found[0], expected, atol=0.04)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    if labels[0] < 50:
        assert found[0, 0] == found[0].max()


def test_where_true_classes_are_known_labels_may_be_wrong_more_often_than_right():
    said = together(block(0, 2, 0.9, {0: 30, 1: 70}), block(1, 2, 0.9, {1: 100}))
    found, _ = estimate_transition(*said, known=np.repeat([0, 1], 100))
    assert found[0, 1] == pytest.approx(0.7, abs=0.01)
