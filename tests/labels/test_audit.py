"""An audit: drawn, answered, judged, kept."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import truelabel as tl
from truelabel.labels import Audit, LabelIssues, audit
from truelabel.labels.audit_verdict import _passed

NAMES = ("cat", "dog", "elk")


@pytest.fixture
def case() -> SimpleNamespace:
    """600 labels of three classes, of which a good p_wrong finds the wrong ones, with good suggestions."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=600)
    p_wrong = rng.beta(0.2, 0.8, size=600)
    given = np.where(rng.random(600) < p_wrong, (truth + 1) % 3, truth)
    suggested = np.where(p_wrong > 0.5, truth, given)
    return SimpleNamespace(truth=truth, given=given, suggested=suggested, p_wrong=p_wrong, wrong=given != truth)


def begun(case: SimpleNamespace, sample: int = 100, **settings: object) -> Audit:
    parts = {"given": case.given, "suggested": case.suggested, "class_names": NAMES}
    return audit(case.p_wrong, sample=sample, **(parts | settings))


def answered(case: SimpleNamespace, sample: int = 100, **settings: object) -> Audit:
    made = begun(case, sample, **settings)
    made.answer(made.rows, case.truth[made.rows])
    return made


def test_an_audit_of_what_examine_found_is_one_of_its_arrays(found: LabelIssues) -> None:
    made, same = tl.labels.audit(found, sample=30), audit(found.p_wrong, sample=30, given=found.labels)
    np.testing.assert_array_equal(made.rows, same.rows)
    np.testing.assert_array_equal(made.suggested, found.suggested)
    assert made.class_names == found.class_names
    assert made.ids[7] == "i7"


def test_each_draw_is_what_its_seed_and_its_probabilities_say(case: SimpleNamespace) -> None:
    made = begun(case)
    assert len(set(made.rows.tolist())) == len(made.rows) == 100
    np.testing.assert_array_equal(made.rows, begun(case).rows)
    assert not np.array_equal(made.rows, begun(case, random_state=1).rows)
    assert made.inclusion.sum() == pytest.approx(100)
    assert (made.inclusion > 0).all()


def test_checking_everything_leaves_nothing_open(case: SimpleNamespace) -> None:
    verdict = answered(case, 10_000).verdict()
    total = verdict.wrong.total
    assert (total.number, total.low, total.high) == (case.wrong.sum(),) * 3
    for k, name in enumerate(NAMES):
        count = verdict.wrong.by_class[name]
        assert count.low == count.high == case.wrong[case.given == k].sum()
        assert count.of == (case.given == k).sum()
    for row in verdict.precision.itertuples():
        assert row.low == row.high == case.wrong[case.p_wrong >= row.cutoff].sum()
    gain = (case.suggested == case.truth).astype(int) - (case.given == case.truth)
    for row in verdict.corrections.itertuples():
        assert row.low == row.high == gain[case.p_wrong >= row.cutoff].sum()
        assert row.changes == ((case.p_wrong >= row.cutoff) & (case.suggested != case.given)).sum()


@pytest.mark.parametrize("belief", ["good", "constant", "upside down"])
def test_the_interval_holds_whatever_the_model_believes(case: SimpleNamespace, belief: str) -> None:
    p_wrong = {"good": case.p_wrong, "constant": np.full(600, 0.3), "upside down": 1 - case.p_wrong}[belief]
    held = 0
    for seed in range(60):
        made = audit(p_wrong, sample=60, random_state=seed)
        made.answer(made.rows, case.wrong[made.rows].astype(int))
        total = made.total()
        held += total.low <= case.wrong.sum() <= total.high
    assert held >= 0.85 * 60  # three standard errors below 95 %, two below 92 %


def test_a_good_model_makes_the_interval_short(case: SimpleNamespace) -> None:
    widths = {}
    for name, p_wrong in {"good": case.p_wrong, "constant": np.full(600, 0.3)}.items():
        made = audit(p_wrong, sample=100)
        made.answer(made.rows, case.wrong[made.rows].astype(int))
        widths[name] = made.total().high - made.total().low
    assert widths["good"] < 0.75 * widths["constant"]


@pytest.mark.parametrize(("share", "n"), [(0.0, 500), (1.0, 500), (0.0, 3), (1.0, 1), (0.5, 2)])
def test_nothing_wrong_everything_wrong_and_tiny_sets(share: float, n: int) -> None:
    wrong = np.arange(n) < share * n
    made = audit(np.linspace(0, 1, n), sample=100)
    made.answer(made.rows, wrong[made.rows].astype(int))
    total = made.verdict().wrong.total
    assert total.low <= wrong.sum() <= total.high
    assert total.number == pytest.approx(wrong.sum())
    assert total.high - total.low < 0.11 * n


def test_further_draws_join_the_first_as_one_sample(case: SimpleNamespace) -> None:
    made = answered(case, 60)
    before = made.total()
    new = made.more(60)
    assert len(new) == 60
    assert not set(new.tolist()) & set(made.rows[:60].tolist())
    np.testing.assert_array_equal(made.rounds, np.repeat([0, 1], 60))
    np.testing.assert_array_equal(made.open, new)
    assert made.total() == before
    made.answer(new, case.truth[new])
    after = made.total()
    assert after.high - after.low < before.high - before.low
    drawn = np.bincount(made.stratum[made.rows])
    np.testing.assert_allclose(made.inclusion, (drawn / made.sizes)[made.stratum])
    assert len(made.more(10_000)) == 480
    assert len(made.more(5)) == 0


def test_what_nobody_can_tell_widens_the_interval_by_all_it_may_be(case: SimpleNamespace) -> None:
    made = answered(case, 600)
    right, wrong = np.flatnonzero(~case.wrong)[:2], np.flatnonzero(case.wrong)[:3]
    made.answer([*right, *wrong], ["cannot tell"] * 5)
    verdict = made.verdict()
    assert verdict.unclear == 5
    assert (verdict.wrong.total.low, verdict.wrong.total.high) == (case.wrong.sum() - 3, case.wrong.sum() + 2)
    assert verdict.wrong.total.low <= verdict.wrong.total.number <= verdict.wrong.total.high
    assert (made.trusted[[*right, *wrong]] == -1).all()


def test_where_no_class_is_right_the_label_is_wrong_and_a_change_mends_nothing(case: SimpleNamespace) -> None:
    made = answered(case, 600)
    (row,) = np.flatnonzero((case.suggested != case.given) & case.wrong)[:1]
    gain = made.verdict().corrections["gain"].iloc[-1]
    made.answer([row], ["none"])
    verdict = made.verdict()
    assert verdict.wrong.total.number == case.wrong.sum()
    assert verdict.corrections["gain"].iloc[-1] == gain - 1


def test_good_suggestions_are_safe_and_bad_ones_are_not(case: SimpleNamespace) -> None:
    good = answered(case).verdict()
    assert good.safe is not None
    assert good.safe["low"] > 0
    rows = case.p_wrong >= good.safe["cutoff"]
    true = (case.suggested == case.truth)[rows].sum() - (case.given == case.truth)[rows].sum()
    assert good.safe["low"] <= true <= good.safe["high"]
    assert "Safe: replace labels" in str(good)
    bad = answered(case, suggested=(case.truth + 2) % 3).verdict()
    assert bad.safe is None
    assert bad.corrections["high"].iloc[-1] < 0
    assert "No correction is proven" in str(bad)


def test_the_cutoff_for_a_precision_is_proven(case: SimpleNamespace) -> None:
    verdict = answered(case, 400).verdict()
    cutoff = verdict.cutoff(0.6)
    assert cutoff is not None
    assert case.wrong[case.p_wrong >= cutoff].mean() >= 0.6
    row = verdict.precision[verdict.precision["cutoff"] == cutoff].iloc[0]
    assert row["precision_low"] >= 0.6
    assert verdict.cutoff(0.999) is None


def test_cutoffs_pass_from_the_first_with_enough_answers_until_one_fails() -> None:
    proven, enough = [True, False, True, True, False, True], [False, False, True, True, True, True]
    np.testing.assert_array_equal(_passed(proven, enough), [False, False, True, True, False, False])


def test_trusted_labels_come_with_weights_that_make_them_stand_for_all(case: SimpleNamespace) -> None:
    made = answered(case)
    known = made.trusted >= 0
    np.testing.assert_array_equal(np.flatnonzero(known), np.sort(made.rows))
    np.testing.assert_array_equal(made.trusted[known], case.truth[known])
    assert made.weights.sum() == pytest.approx(600)
    assert (made.weights[known] * case.wrong[known]).sum() == pytest.approx(made.total().number)
    assert made.trusted_sample == "picked"
    even = audit(np.full(600, 0.3), sample=50, given=case.given)
    even.answer(even.rows, case.truth[even.rows])
    assert even.trusted_sample == "random"


def test_every_answer_is_kept_and_the_last_one_stands(case: SimpleNamespace) -> None:
    made = begun(case)
    row = int(made.rows[0])
    for name in ("cat", "dog", "dog", "none"):
        made.answer([row], [name])
    assert made.history == {row: [0, 1, -2]}
    assert made.answers == {row: -2}


def test_an_answer_that_is_taken_back_leaves_the_label_open_and_stays_in_the_history(
    case: SimpleNamespace, tmp_path: Path
) -> None:
    made = begun(case)
    first, second = made.rows[:2].tolist()
    made.answer([first, second], ["cat", "dog"])
    made.take_back(first)
    assert made.answers == {second: 1}
    assert made.open[0] == first
    assert len(made.open) == 99
    assert made.trusted[first] == -1
    made.answer([first], ["elk"])
    made.take_back(second)
    read = Audit.read(made.write(tmp_path / "a.jsonl"))
    assert read.history == made.history == {first: [0, None, 2], second: [1, None]}
    assert read.answers == {first: 2}
    for row in (second, int(made.rows[2])):
        with pytest.raises(ValueError, match=f"row {row} has no answer"):
            read.take_back(row)


def test_names_with_any_character_survive_the_file(case: SimpleNamespace, tmp_path: Path) -> None:
    ids = [f"a\u2028b\x85c\r\n{k}" for k in range(600)]
    made = begun(case, ids=ids)
    assert Audit.read(made.write(tmp_path / "a.jsonl")).ids.tolist() == ids


def test_an_audit_is_written_and_read_again(case: SimpleNamespace, tmp_path: Path) -> None:
    made = answered(case, 50, ids=[f"ï{k}" for k in range(600)])
    made.answer([made.rows[0]], ["cannot tell"])
    made.more(10)
    path = made.write(tmp_path / "audit.jsonl")
    read = Audit.read(path)
    for name in ("p_wrong", "given", "suggested", "ids", "stratum", "rows", "rounds"):
        np.testing.assert_array_equal(getattr(read, name), getattr(made, name))
    assert read.history == made.history
    assert read.total() == made.total()
    np.testing.assert_array_equal(read.more(10), made.more(10))
    assert [entry.name for entry in tmp_path.iterdir()] == ["audit.jsonl"]


def test_the_file_says_of_each_label_how_it_was_drawn(case: SimpleNamespace, tmp_path: Path) -> None:
    made = answered(case, 50)
    lines = [json.loads(line) for line in made.write(tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 601
    row = int(made.rows[0])
    assert lines[1] == {
        "row": row,
        "id": row,
        "given": NAMES[case.given[row]],
        "suggested": NAMES[case.suggested[row]],
        "p_wrong": case.p_wrong[row],
        "stratum": made.stratum[row],
        "inclusion": pytest.approx(made.inclusion[row]),
        "round": 0,
        "answers": [NAMES[case.truth[row]]],
    }
    assert "round" not in lines[-1]


@pytest.mark.parametrize("damage", ["", "{", "[]\n", '{"truelabel_audit": 9}\n', "no such row"])
def test_a_damaged_file_is_refused(case: SimpleNamespace, tmp_path: Path, damage: str) -> None:
    path = begun(case).write(tmp_path / "a.jsonl")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"row": 7,', '"row": 8,') if damage == "no such row" else damage, encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.jsonl is no audit, or is damaged"):
        Audit.read(path)
    with pytest.raises(FileNotFoundError, match="There is no audit"):
        Audit.read(tmp_path / "b.jsonl")


def test_the_sheet_does_not_say_what_the_model_believes(case: SimpleNamespace) -> None:
    sheet = begun(case).sheet()
    assert list(sheet.columns) == ["row", "id", "given", "true_class"]
    assert (sheet["true_class"] == "").all()


def test_a_sheet_is_read_in_any_order_and_half_filled(case: SimpleNamespace, tmp_path: Path) -> None:
    made = begun(case, 20)
    sheet = made.sheet()
    sheet.loc[:4, "true_class"] = ["dog", " elk ", "cannot tell", "none", "cat"]
    sheet[::-1].to_csv(tmp_path / "s.csv", index=False, sep=";", encoding="utf-8-sig")
    assert made.read_sheet(tmp_path / "s.csv") == 20
    assert [made.answers[int(row)] for row in made.rows[:5]] == [1, 2, -1, -2, 0]
    assert len(made.open) == 15


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda sheet: sheet.drop(columns="true_class"), "has no column 'true_class'"),
        (lambda sheet: sheet.assign(true_class="dgo"), "line 2 of .*: 'dgo' is none of the classes"),
        (lambda sheet: sheet.assign(row=599 - sheet["row"]), "is not of this audit"),
        (lambda sheet: sheet.assign(id="x"), "is not of this audit"),
        (lambda sheet: sheet.iloc[[0, 0]], "line 3 of .* once more"),
    ],
)
def test_a_sheet_of_something_else_is_refused(
    case: SimpleNamespace, tmp_path: Path, change: object, complaint: str
) -> None:
    made = begun(case, 20)
    change(made.sheet()).to_csv(tmp_path / "s.csv", index=False)  # type: ignore[operator]
    with pytest.raises(ValueError, match=complaint):
        made.read_sheet(tmp_path / "s.csv")
    assert not made.answers


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"found": [0.1, 1.2]}, "one probability between 0 and 1"),
        ({"found": []}, "one probability between 0 and 1"),
        ({"found": [0.1, 0.2], "sample": 0}, "a number of labels to check, 1 or more, not 0"),
        ({"found": [0.1, 0.2], "suggested": [0, 1]}, "pass given, too"),
        ({"found": [0.1, 0.2], "given": [0, -1]}, "given must hold class indices"),
        ({"found": [0.1, 0.2], "given": [0]}, "given has shape"),
        ({"found": [0.1, 0.2], "given": [0, 2], "class_names": ["a", "b"]}, "there are 2 class names"),
        ({"found": [0.1, 0.2], "given": [0, 1], "class_names": ["a", "none"]}, "a class is named 'none'"),
        ({"found": [0.1, 0.2], "ids": ["a"]}, "there are 1 ids for 2 instances"),
    ],
)
def test_what_cannot_be_audited_is_refused(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        audit(settings.pop("found"), **settings)


def test_answers_that_mean_nothing_are_refused(case: SimpleNamespace) -> None:
    made = begun(case, 20)
    with pytest.raises(ValueError, match="no label is checked yet"):
        made.verdict()
    other = next(row for row in range(600) if row not in made.rows)
    with pytest.raises(ValueError, match=f"row {other} was not drawn"):
        made.answer([other], ["cat"])
    with pytest.raises(ValueError, match="there is no class 3"):
        made.answer(made.rows[:1], [3])
    with pytest.raises(ValueError, match="2 answers for 1 rows"):
        made.answer(made.rows[:1], ["cat", "dog"])
    with pytest.raises(ValueError, match="sample is a number"):
        made.more(0)
    made.answer(made.rows[:1], ["cat"])
    with pytest.raises(ValueError, match="level is a probability"):
        made.verdict(1.0)
