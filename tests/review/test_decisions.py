"""Decisions in their file: which of them stand, and what is read from them."""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truelabel.labels.examined import Examined
from truelabel.review import Decisions, holds
from truelabel.review.decisions import Asked, ConflictError, Standing
from truelabel.review.deliver import decided_in, unusable
from truelabel.review.names import reviewer_name

Make = Callable[..., Examined]


# What the first version wrote.
EARLIER = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE log (seq INTEGER PRIMARY KEY AUTOINCREMENT, row INTEGER NOT NULL, id NOT NULL, given INTEGER NOT NULL,
    suggested INTEGER NOT NULL, decision TEXT, label INTEGER, at TEXT NOT NULL, tab TEXT NOT NULL,
    undoes INTEGER REFERENCES log);
CREATE INDEX by_row ON log (row, seq);
CREATE INDEX by_undone ON log (undoes);
CREATE VIEW valid AS
    SELECT * FROM log WHERE undoes IS NULL AND NOT EXISTS (SELECT 1 FROM log AS undo WHERE undo.undoes = log.seq);
CREATE VIEW standing AS
    SELECT * FROM valid WHERE seq = (SELECT MAX(seq) FROM valid AS other WHERE other.row = valid.row);
PRAGMA application_id = 1953655857;
INSERT INTO log (row, id, given, suggested, decision, label, at, tab) VALUES
    (3, 'i3', 1, 2, 'accept', 2, '2026-01-01T10:00:00.000+00:00', 'one'),
    (4, 'i4', 1, 2, 'keep', 1, '2026-01-01T10:00:01.000+00:00', 'one'),
    (5, 'i5', 1, 2, 'skip', NULL, '2026-01-01T10:00:02.000+00:00', 'one');
INSERT INTO log (row, id, given, suggested, at, tab, undoes) VALUES
    (4, 'i4', 1, 2, '2026-01-01T10:00:03.000+00:00', 'one', 2);
"""


@pytest.fixture
def decided(made_up: Make, tmp_path: Path) -> Decisions:
    return Decisions.of(made_up(12), tmp_path / "decisions.sqlite")


def standing(decided: Decisions) -> dict[int, tuple[str, object]]:
    return {row: (line["decision"], line["label"]) for row, line in decided.table().iterrows()}


def test_the_label_tells_the_kind_of_decision(decided: Decisions) -> None:
    said = [decided.decide(row, label, given=1, suggested=2, id=f"i{row}") for row, label in enumerate([2, 1, 3, None])]
    assert said == ["accept", "keep", "other", "skip"]
    table = decided.table()
    assert list(table.columns) == ["id", "given", "suggested", "decision", "label", "when", "reviewer"]
    assert table["id"].tolist() == ["i0", "i1", "i2", "i3"]
    assert table["given"].tolist() == ["dog"] * 4
    assert table["suggested"].tolist() == ["elk"] * 4
    assert table["label"].tolist()[:3] == ["elk", "dog", "fox"]
    assert pd.isna(table["label"].iloc[3])
    assert str(table["when"].dtype).endswith("UTC]")
    assert (pd.Timestamp.now("UTC") - table["when"]).max() < pd.Timedelta("1min")


def test_trusted_labels_are_those_a_person_gave(decided: Decisions) -> None:
    for row, label in [(7, 2), (3, 1), (5, None), (7, 3)]:
        decided.decide(row, label, given=1, suggested=2)
    rows, labels = decided.trusted()
    assert rows.tolist() == [3, 7]
    assert labels.tolist() == [1, 3]
    assert rows.dtype == labels.dtype == np.int64


def test_corrected_labels_are_the_given_ones_where_nobody_decided(made_up: Make, decided: Decisions) -> None:
    found = made_up(12).found
    given = found.labels
    decided.decide(4, int((given[4] + 1) % 4), given=int(given[4]), suggested=0)
    decided.decide(5, int(given[5]), given=int(given[5]), suggested=0)
    decided.decide(6, None, given=int(given[6]), suggested=0)
    table = decided.corrected(found)
    names = np.array(["cat", "dog", "elk", "fox"])
    expected = names[given]
    expected[4] = names[(given[4] + 1) % 4]
    assert table["id"].tolist() == [f"i{row}" for row in range(12)]
    assert table["corrected"].tolist() == expected.tolist()
    assert np.flatnonzero(table["changed"]).tolist() == [4]
    assert table["decision"].tolist()[5:8] == ["keep", "skip", ""]


def test_the_last_decision_stands_whoever_made_it(decided: Decisions) -> None:
    decided.decide(2, 1, given=1, suggested=2, tab="one")
    decided.decide(2, 2, given=1, suggested=2, tab="two")
    assert standing(decided) == {2: ("accept", "elk")}
    decided.decide(2, 3, given=1, suggested=2, tab="one")
    assert standing(decided) == {2: ("other", "fox")}
    assert len(decided) == 1


def test_undo_goes_back_through_what_the_tab_itself_did(decided: Decisions) -> None:
    for row, tab in [(0, "one"), (1, "two"), (2, "one")]:
        decided.decide(row, 2, given=1, suggested=2, tab=tab)
    assert [decided.undo("one") for _ in range(3)] == [2, 0, None]
    assert standing(decided) == {1: ("accept", "elk")}
    assert decided.undo("two") == 1
    assert len(decided) == 0


def test_undo_brings_back_what_stood_before(decided: Decisions) -> None:
    decided.decide(0, 1, given=1, suggested=2, tab="one")
    decided.decide(0, 2, given=1, suggested=2, tab="one")
    decided.undo("one")
    assert standing(decided) == {0: ("keep", "dog")}


def test_undo_leaves_a_later_decision_of_another_tab_alone(decided: Decisions) -> None:
    decided.decide(0, 1, given=1, suggested=2, tab="one")
    decided.decide(0, 2, given=1, suggested=2, tab="two")
    assert decided.undo("one") == 0
    assert standing(decided) == {0: ("accept", "elk")}


def test_changes_are_those_since_a_version(decided: Decisions) -> None:
    decided.decide(0, 1, given=1, suggested=2, tab="one")
    before, _ = decided.changes()
    decided.decide(1, 2, given=1, suggested=2, tab="two")
    decided.undo("one")
    version, changes = decided.changes(before)
    assert [(one.row, one.decision, one.label, one.tab) for one in changes] == [
        (0, None, None, None),
        (1, "accept", 2, "two"),
    ]
    assert decided.changes(version) == (version, [])


def test_nothing_is_ever_deleted(decided: Decisions) -> None:
    decided.decide(0, 1, given=1, suggested=2)
    decided.decide(0, 2, given=1, suggested=2)
    decided.undo()
    with sqlite3.connect(decided.path) as file:
        log = file.execute("SELECT decision, undoes FROM log ORDER BY seq").fetchall()
    assert log == [("keep", None), ("accept", None), (None, 2)]


def test_a_commit_waits_for_the_disk(decided: Decisions) -> None:
    assert decided.hold("one", [3]) == [3]
    assert decided._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert decided._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_two_programs_write_to_one_file_at_once(made_up: Make, tmp_path: Path) -> None:
    path, examined = tmp_path / "d.sqlite", made_up(400)
    opened = [Decisions.of(examined, path) for _ in range(2)]

    def decide(which: int) -> None:
        for row in range(which, 200, 2):
            opened[which].decide(row, 2, given=1, suggested=2, tab=str(which))

    threads = [threading.Thread(target=decide, args=(which,)) for which in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert opened[0].trusted()[0].tolist() == list(range(200))


def test_a_file_is_gone_on_with(made_up: Make, tmp_path: Path) -> None:
    path = tmp_path / "d.sqlite"
    with Decisions.of(made_up(12), path) as first:
        first.decide(3, 1, given=1, suggested=2, id="i3")
    with Decisions.of(made_up(12), path) as second:
        assert standing(second) == {3: ("keep", "dog")}
    with Decisions(path) as third:
        assert third.table()["id"].tolist() == ["i3"]


def test_decisions_about_other_data_are_refused(made_up: Make, tmp_path: Path) -> None:
    path = tmp_path / "d.sqlite"
    Decisions.of(made_up(12), path).close()
    for other in (made_up(16), made_up(12, suspects=0.1), made_up(12, names=("cat", "dog", "elk", "gnu"))):
        with pytest.raises(ValueError, match="holds decisions about other data; name another file"):
            Decisions.of(other, path)


def test_classes_without_names_are_numbers(made_up: Make, tmp_path: Path) -> None:
    with Decisions.of(made_up(12, names=None), tmp_path / "d.sqlite") as decided:
        decided.decide(3, 0, given=1, suggested=2)
        decided.decide(4, None, given=1, suggested=2)
        table = decided.table()
    assert table["id"].tolist() == [3, 4]
    assert table["given"].tolist() == [1, 1]
    assert table["label"].dtype == "Int64"
    assert table["label"].iloc[0] == 0
    assert pd.isna(table["label"].iloc[1])


def test_no_decision_gives_an_empty_table_and_nothing_trusted(decided: Decisions) -> None:
    assert decided.table().empty
    assert list(decided.table().columns) == ["id", "given", "suggested", "decision", "label", "when", "reviewer"]
    assert [part.tolist() for part in decided.trusted()] == [[], []]


def test_a_class_there_is_not_is_refused(decided: Decisions) -> None:
    for label in (-1, 4):
        with pytest.raises(ValueError, match=f"there is no class {label}; the classes are 0 to 3"):
            decided.decide(0, label, given=1, suggested=2)
    assert len(decided) == 0


def test_files_that_hold_no_decisions_are_refused(made_up: Make, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="There are no decisions in"):
        Decisions(tmp_path / "none.sqlite")
    text = tmp_path / "text.sqlite"
    text.write_text("not a database, but long enough to be taken for one" * 20)
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as file:
        file.execute("CREATE TABLE log (row)")
    for path in (text, foreign):
        before = path.read_bytes()
        with pytest.raises(ValueError, match="is no file of decisions"):
            Decisions(path)
        with pytest.raises(ValueError, match="is no file of decisions"):
            Decisions.of(made_up(12), path)
        assert path.read_bytes() == before
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        Decisions.of(made_up(12), tmp_path / "nowhere" / "d.sqlite")


def test_a_file_of_the_first_version_is_gone_on_with(made_up: Make, tmp_path: Path) -> None:
    path = tmp_path / "d.sqlite"
    Decisions.of(made_up(12), tmp_path / "new.sqlite").close()
    with sqlite3.connect(tmp_path / "new.sqlite") as file:
        about = file.execute("SELECT name, value FROM about").fetchall()
    with sqlite3.connect(path) as file:
        file.executescript(EARLIER)
        file.executemany("INSERT INTO about VALUES (?, ?)", about)
    with Decisions.of(made_up(12), path) as first, Decisions(path) as second:
        assert standing(first) == {3: ("accept", "elk"), 5: ("skip", None)}
        assert first.table()["reviewer"].tolist() == ["", ""]
        second.decide(4, 3, given=1, suggested=2, id="i4", reviewer="Anna", seen=0)
        assert first.hold("one", [7]) == [7]
        assert standing(first)[4] == ("other", "fox")
        assert first.table()["reviewer"].tolist() == ["", "", "Anna"]


def test_a_decision_says_who_made_it(decided: Decisions) -> None:
    decided.decide(0, 1, given=1, suggested=2, tab="one", reviewer=" Anna ")
    decided.decide(1, 1, given=1, suggested=2, tab="two", reviewer="Ben")
    assert decided.table()["reviewer"].tolist() == ["Anna", "Ben"]
    _, changes = decided.changes()
    assert [(one.reviewer, one.seq) for one in changes] == [("Anna", 1), ("Ben", 2)]
    for name in ("x" * 61, "two\nlines"):
        with pytest.raises(ValueError, match="a reviewer's name has 60 letters at most"):
            reviewer_name(name)


def test_a_decision_that_somebody_else_made_meanwhile_is_not_overwritten_unseen(decided: Decisions) -> None:
    decided.decide(0, 1, given=1, suggested=2, tab="one", reviewer="Anna", seen=0)
    with pytest.raises(ConflictError) as conflict:
        decided.decide(0, 2, given=1, suggested=2, tab="two", reviewer="Ben", seen=0)
    now = conflict.value.standing
    assert (now.row, now.decision, now.label, now.reviewer, now.seq) == (0, "keep", 1, "Anna", 1)
    assert standing(decided) == {0: ("keep", "dog")}
    decided.decide(0, 2, given=1, suggested=2, tab="two", reviewer="Ben", seen=now.seq)
    assert standing(decided) == {0: ("accept", "elk")}
    with pytest.raises(ConflictError):
        decided.decide(0, 3, given=1, suggested=2, tab="one", seen=1)


def test_ones_own_decision_is_changed_without_a_question(decided: Decisions) -> None:
    decided.decide(0, 1, given=1, suggested=2, tab="one", seen=0)
    decided.decide(0, 2, given=1, suggested=2, tab="one", seen=0)
    assert standing(decided) == {0: ("accept", "elk")}


def test_a_decision_that_somebody_else_took_back_is_a_conflict_too(decided: Decisions) -> None:
    decided.decide(0, 1, given=1, suggested=2, tab="one", reviewer="Anna")
    decided.undo("one", "Anna")
    with pytest.raises(ConflictError) as conflict:
        decided.decide(0, 2, given=1, suggested=2, tab="two", seen=1)
    now = conflict.value.standing
    assert now == Standing(0, None, None, now.when, "one", "Anna", 0)
    decided.decide(0, 2, given=1, suggested=2, tab="two", seen=now.seq)
    assert standing(decided) == {0: ("accept", "elk")}


def test_of_two_that_decide_at_once_one_learns_of_the_other(made_up: Make, tmp_path: Path) -> None:
    path, examined = tmp_path / "d.sqlite", made_up(400)
    conflicts: list[int] = []

    def decide(which: str) -> None:
        with Decisions.of(examined, path) as opened:
            for row in range(100):
                try:
                    opened.decide(row, 2, given=1, suggested=2, tab=which, seen=0)
                except ConflictError as error:
                    conflicts.append(error.standing.row)

    Decisions.of(examined, path).close()
    threads = [threading.Thread(target=decide, args=(which,)) for which in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(conflicts) == list(range(100))


def test_what_one_tab_has_on_show_another_does_not_get(decided: Decisions, monkeypatch: pytest.MonkeyPatch) -> None:
    assert decided.hold("one", [3, 4]) == [3]
    assert decided.hold("two", [3, 4]) == [4]
    assert decided.hold("three", [4, 3]) == []
    assert decided.hold("three", [4, 5, 3, 6, 7], most=2) == [5, 6]
    assert decided.hold("one", [3]) == [3]
    assert decided.hold("one", []) == []
    assert decided.hold("two", [3]) == [3]
    now = holds.time.time()
    monkeypatch.setattr(holds.time, "time", lambda: now + holds.LASTS + 1)
    assert decided.hold("four", [3]) == [3]


def test_what_was_decided_meanwhile_is_passed_over(decided: Decisions) -> None:
    before, _ = decided.changes()
    decided.decide(3, 1, given=1, suggested=2, tab="one")
    assert decided.hold("two", [3, 4], since=before) == [4]
    assert decided.hold("two", [3, 4], since=decided.changes()[0]) == [3]


def without_label(decided: Decisions) -> None:
    """Decide about the first six instances: three have no label, two are of a new class, one is a dog."""
    for row, verdict in enumerate(("none", "ambiguous", "several")):
        assert decided.decide(row, None, given=1, suggested=2, verdict=verdict) == verdict
    assert decided.decide(3, None, given=1, suggested=2, new_class="Sofa  bed ") == "new class"
    assert decided.decide(4, None, given=1, suggested=2, new_class="sofa bed") == "new class"
    decided.decide(5, 1, given=1, suggested=2)


def test_instances_may_have_no_label_or_one_of_a_new_class(made_up: Make, decided: Decisions) -> None:
    without_label(decided)
    table = decided.table()
    assert table["decision"].tolist() == ["none", "ambiguous", "several", "new class", "new class", "keep"]
    assert table["label"].tolist() == [None, None, None, "Sofa bed", "Sofa bed", "dog"]
    assert decided.trusted()[0].tolist() == [5]
    assert unusable(decided_in(decided)).tolist() == [0, 1, 2, 3, 4]
    corrected = decided.corrected(made_up(12).found)
    assert corrected["corrected"].isna().tolist() == [True] * 3 + [False] * 9
    assert corrected["corrected"].tolist()[3:6] == ["Sofa bed", "Sofa bed", "dog"]
    assert corrected["changed"].tolist()[:5] == [True] * 5


def test_numbered_classes_may_have_new_ones_beside_them(made_up: Make, tmp_path: Path) -> None:
    examined = made_up(12, names=None)
    with Decisions.of(examined, tmp_path / "d.sqlite") as decided:
        decided.decide(0, None, given=1, suggested=2, verdict="none")
        corrected = decided.corrected(examined.found)["corrected"]
        assert corrected.dtype == "Int64"
        assert corrected.isna().tolist() == [True] + [False] * 11
        decided.decide(1, None, given=1, suggested=2, new_class="sofa")
        assert decided.table()["label"].tolist() == [None, "sofa"]
        corrected = decided.corrected(examined.found)["corrected"]
        assert pd.isna(corrected[0])
        assert corrected.tolist()[1:3] == ["sofa", str(examined.found.labels[2])]


@pytest.mark.parametrize("name", ["", "  ", "nan", "N/A", "..", "a/b", "x" * 61, "a\x07b"])
def test_a_new_class_has_a_name_that_a_file_can_hold(decided: Decisions, name: str) -> None:
    with pytest.raises(ValueError, match="a class cannot be called"):
        decided.decide(0, None, given=1, suggested=2, new_class=name)
    assert len(decided) == 0


def test_a_new_class_is_none_of_the_classes_and_a_decision_says_one_thing(decided: Decisions) -> None:
    with pytest.raises(ValueError, match="DOG is not new: there is a class dog; give that label instead"):
        decided.decide(0, None, given=1, suggested=2, new_class="DOG")
    with pytest.raises(ValueError, match="pass one of them"):
        decided.decide(0, 1, given=1, suggested=2, verdict="none")


def asked(rows: list[int], seen: int = 0) -> list[Asked]:
    return [Asked(row, f"i{row}", 1, 2, seen) for row in rows]


def test_many_are_decided_and_undone_together(decided: Decisions) -> None:
    decided.decide(7, 1, given=1, suggested=2, tab="one")
    assert decided.decide_all(asked([3, 4, 5]), 2, tab="one", reviewer="Anna") == ([3, 4, 5], [])
    assert standing(decided) == {7: ("keep", "dog")} | {row: ("accept", "elk") for row in (3, 4, 5)}
    assert decided.table()["reviewer"].tolist() == ["", "Anna", "Anna", "Anna"]
    assert decided.undo_all("two") == []
    assert decided.undo_all("one") == [3, 4, 5]
    assert standing(decided) == {7: ("keep", "dog")}
    assert decided.undo("one") == 7


def test_what_somebody_else_decided_meanwhile_is_left_as_it_is(decided: Decisions) -> None:
    decided.decide(4, 1, given=1, suggested=2, tab="two", reviewer="Ben")
    rows, conflicts = decided.decide_all(asked([3, 4, 5]), 2, tab="one")
    assert rows == [3, 5]
    assert [(one.row, one.reviewer) for one in conflicts] == [(4, "Ben")]
    assert standing(decided)[4] == ("keep", "dog")
    assert decided.undo_all("one") == [3, 5]
    with pytest.raises(ValueError, match="there is no class 4"):
        decided.decide_all(asked([3]), 4)
