"""Labels judged by several annotators: what is found, corrected, kept in a folder and learned from decisions."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import truelabel as tl
from truelabel.labels import Examined, MultiLabel, Votes, consensus, correct_labels, examine, examined

N = 160
QUALITY = np.array([0.95, 0.8, 0.65, 0.6, 0.55])
NAMES = ("cat", "dog", "elk")


@pytest.fixture(scope="module")
def crowd() -> SimpleNamespace:
    """160 points in three blobs; each has three votes of five annotators, the best of whom is right in 95 of 100."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=N)
    x = (3 * np.eye(3, 5)[truth] + rng.normal(size=(N, 5))).astype(np.float32)
    right = rng.random((N, 5)) < QUALITY
    matrix = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, 3, size=right.shape)) % 3)
    matrix[rng.random(right.shape).argsort(axis=1) >= 3] = -1
    people = [f"a{j}" for j in range(5)]
    votes = Votes(matrix, annotators=people, class_names=NAMES)
    said = tl.Predictions(np.full((N, 3), 1 / 3), x, class_names=NAMES, ids=[f"i{k}" for k in range(N)])
    found = examine(said, votes=votes, progress=False)
    return SimpleNamespace(truth=truth, x=x, votes=votes, said=said, found=found, majority=votes.majority())


@pytest.fixture(scope="module")
def folder(crowd: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    labelled = crowd.said.replace(labels=crowd.majority)
    return examined(labelled, crowd.found, correct="safe").write(tmp_path_factory.mktemp("voted") / "folder")


def test_labels_are_the_majoritys_and_judged_by_the_consensus(crowd: SimpleNamespace) -> None:
    expected = consensus(crowd.votes, predictions=crowd.said, progress=False)
    np.testing.assert_array_equal(crowd.found.labels, crowd.majority)
    np.testing.assert_allclose(crowd.found.probs, expected.probs, atol=1e-6)
    wrong = crowd.majority != crowd.truth
    assert wrong.mean() > 0.1
    assert crowd.found.wrong.total.low <= wrong.sum() <= crowd.found.wrong.total.high
    ranked = crowd.found.table.index.to_numpy()
    assert wrong[ranked[: wrong.sum()]].mean() > 0.6
    assert np.mean(crowd.found.suggested == crowd.truth) > np.mean(~wrong) + 0.05
    np.testing.assert_allclose(crowd.found.transition.sum(axis=1), 1)


def test_the_table_has_what_votes_say_of_each_instance(crowd: SimpleNamespace) -> None:
    table = crowd.found.table
    expected = crowd.found.consensus.table.loc[table.index]
    for name in ("votes", "disagreement", "ambiguity", "needs_vote", "best_annotator"):
        assert table[name].equals(expected[name])
    assert table["id"].tolist() == [f"i{k}" for k in table.index]


def test_safe_corrections_are_those_that_votes_speak_for_and_make_labels_better(crowd: SimpleNamespace) -> None:
    safe, everything = (correct_labels(crowd.found, rule=rule) for rule in ("safe", "all"))
    changed = np.flatnonzero(safe.labels != crowd.majority)
    assert 0 < len(changed) < len(everything.changes)
    likelihood = crowd.found.consensus.annotators.likelihood
    assert (likelihood[changed, safe.labels[changed]] > likelihood[changed, crowd.majority[changed]]).all()
    assert (safe.labels == crowd.truth).sum() > (crowd.majority == crowd.truth).sum()
    assert "the votes speak for it" in safe.rule
    counts = crowd.votes.counts
    for row, change in safe.changes.iterrows():
        agree = counts[row, safe.labels[row]]
        assert change["why"].endswith(f"; {agree} of 3 votes are for {change['corrected']}")
    assert "the votes, each weighed by how good its annotator is, do not speak for another class" in safe.declined


def test_features_that_know_nothing_do_not_make_good_votes_look_wrong() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=N)
    votes = Votes(np.where(rng.random((N, 3)) < 0.95, truth[:, None], (truth[:, None] + 1) % 3))
    said = tl.Predictions(np.full((N, 3), 1 / 3), rng.normal(size=(N, 4)))
    count = examine(said, votes=votes, progress=False).wrong.total
    wrong = int((votes.majority() != truth).sum())
    assert count.low <= wrong <= count.high
    assert count.number < 0.1 * N


def test_labels_that_there_are_stay_the_given_ones(crowd: SimpleNamespace) -> None:
    given = (crowd.truth + (np.arange(N) % 4 == 0)) % 3
    found = examine(crowd.said.replace(labels=given), votes=crowd.votes, progress=False)
    np.testing.assert_array_equal(found.labels, given)
    assert found.mask()[::4].mean() > 0.9


def test_without_features_votes_stand_alone(crowd: SimpleNamespace) -> None:
    alone = examine(tl.Predictions(np.full((N, 3), 1 / 3), class_names=NAMES), votes=crowd.votes)
    np.testing.assert_allclose(alone.probs, consensus(crowd.votes).probs, atol=1e-6)
    assert alone.consensus.expert_probs is None


def test_trusted_classes_are_taken_as_such_and_judge_annotators(crowd: SimpleNamespace) -> None:
    """Whoever is contradicted in fifty instances that are known is worth less."""
    trusted = np.full(N, -1)
    voted = np.flatnonzero(crowd.votes.cells[:, :3].sum(axis=1))[:50]  # by the first annotator
    first = np.asarray(crowd.votes.cells[voted, :3].argmax(axis=1)).ravel()
    trusted[voted] = (first + 1) % 3
    found = consensus(crowd.votes, crowd.x, trusted=trusted, progress=False)
    np.testing.assert_array_equal(found.labels[voted], trusted[voted])
    assert found.annotators.quality[0] < crowd.found.consensus.annotators.quality[0] - 0.2
    alone = consensus(crowd.votes, trusted=trusted)
    np.testing.assert_array_equal(alone.probs[voted, trusted[voted]], 1)


def test_a_folder_keeps_the_consensus(crowd: SimpleNamespace, folder: Path) -> None:
    read, before = Examined.read(folder).found.consensus, crowd.found.consensus
    assert read.annotator_table.equals(before.annotator_table)
    assert read.table.drop(columns="instance").equals(before.table.drop(columns="instance"))
    assert read.table["instance"].tolist() == [f"i{k}" for k in range(N)]
    assert read.weights == pytest.approx(before.weights)
    np.testing.assert_array_equal(read.votes.counts, before.votes.counts)
    np.testing.assert_array_equal(read.expert_probs, before.expert_probs)


def test_a_folder_without_votes_has_none(crowd: SimpleNamespace, tmp_path: Path) -> None:
    plain = examined(crowd.said.replace(labels=crowd.majority), replace(crowd.found, consensus=None))
    assert Examined.read(plain.write(tmp_path / "plain")).found.consensus is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("rows", 999), ("labels", 3), ("count", 0), ("confusion", np.nan), ("probs", np.inf)],
)
def test_a_damaged_folder_is_refused(name: str, value: float, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    for path in folder.iterdir():
        (tmp_path / "copy" / path.name).write_bytes(path.read_bytes())
    file = tmp_path / "copy" / "examined.safetensors"
    arrays = load_file(file)
    arrays[f"votes.{name}"].flat[0] = value
    save_file(arrays, file)
    with pytest.raises(ValueError, match="is damaged"):
        Examined.read(tmp_path / "copy")


def test_annotators_that_are_not_all_there_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    for path in folder.iterdir():
        (tmp_path / "copy" / path.name).write_bytes(path.read_bytes())
    file = tmp_path / "copy" / "examined.json"
    stored = json.loads(file.read_text())
    stored["votes"]["annotators"] = ["a0"]
    file.write_text(json.dumps(stored))
    with pytest.raises(ValueError, match="is damaged"):
        Examined.read(tmp_path / "copy")


def test_decisions_are_learned_from_through_the_votes(crowd: SimpleNamespace, folder: Path) -> None:
    before = Examined.read(folder)
    rows = before.found.ranked()[:10]
    after = before.refined(rows, crowd.truth[rows], progress=False)
    assert after.found.consensus is not None
    np.testing.assert_array_equal(after.found.suggested[rows], crowd.truth[rows])
    np.testing.assert_array_equal(after.found.labels, before.found.labels)
    assert after.about["trusted"] == 10
    again = correct_labels(after.found)
    np.testing.assert_array_equal(again.labels[rows], crowd.truth[rows])


def test_a_calibrator_follows_what_is_learned_where_there_is_one(crowd: SimpleNamespace, folder: Path) -> None:
    before = Examined.read(folder)
    rows = before.found.ranked()[:3]
    assert before.refined(rows, crowd.truth[rows], progress=False).found.calibrator is None
    with_one = replace(before, about=before.about | {"report": {"seed": 0}})
    after = with_one.refined(rows, crowd.truth[rows], progress=False)
    assert np.mean(after.found.calibrator.predict(before.predictions) == after.found.suggested) > 0.9
    assert after.about["report"] == after.found.calibrator.report_.to_dict()


def test_what_does_not_go_together_is_refused(crowd: SimpleNamespace) -> None:
    few = Votes([[0, 0], [1, 1], [-1, -1], [0, -1]])
    with pytest.raises(ValueError, match="row 2 has neither a vote nor a label \\(1 such in all\\)"):
        examine(tl.Predictions(np.full((4, 2), 0.5)), votes=few)
    with pytest.raises(ValueError, match="without a calibrator; leave it out"):
        examine(crowd.said, tl.NPC(), votes=crowd.votes)
    with pytest.raises(ValueError, match="predictions has 160 rows, but there are votes for 2 instances"):
        examine(crowd.said, votes=crowd.votes[:2])
    tags = np.tile([[1, 0], [0, 1]], (30, 1))
    with pytest.raises(ValueError, match="leave them out of a MultiLabel"):
        examine(MultiLabel(tags * 0.5, tags, np.eye(60)), votes=crowd.votes)


def test_nothing_is_learned_from_the_votes_for_what_has_no_single_label(crowd: SimpleNamespace) -> None:
    left_out = np.array([3, 40, 41])
    all_of_it = examined(crowd.said.replace(labels=crowd.majority), crowd.found, correct="none")
    settled = {"rows": [7], "labels": [int(crowd.truth[7])]}
    refined = all_of_it.refined(**settled, left_out=left_out, progress=False)
    assert refined.about["left_out"] == 3
    votes = refined.found.consensus.votes
    np.testing.assert_array_equal(votes.counts, crowd.votes.counts)  # they are kept, for who changes their mind
    matrix = np.full((N, 5), -1)
    matrix[crowd.votes.rows, crowd.votes.columns] = crowd.votes.labels
    matrix[left_out] = -1
    blank = Votes(matrix, annotators=crowd.votes.annotators, class_names=NAMES)
    np.testing.assert_array_equal(crowd.votes.without(left_out).counts, blank.counts)
    trusted = np.full(N, -1)
    trusted[settled["rows"]] = settled["labels"]
    alone = examine(all_of_it.predictions, votes=blank, trusted=trusted, progress=False)
    np.testing.assert_allclose(refined.found.probs, alone.probs, atol=1e-6)
    assert np.abs(refined.found.probs[left_out] - crowd.found.probs[left_out]).max() > 0.01
    np.testing.assert_array_equal(refined.found.supported[left_out], crowd.majority[left_out])
