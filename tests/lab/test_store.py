import sqlite3

import pandas as pd
import pytest

from truelabel.lab import Record, Store, StoreError, export, open_store


@pytest.fixture
def record(tiny):
    def make(status="ok", after=0.75, **fields):
        result = {"before": 0.5, "after": after, "by_round": None} if status == "ok" else {}
        return Record(tiny(**fields), status, result, {"train": 1.5}, {"torch": "2"}, None if result else "Oh: no")

    return make


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "lab.sqlite") as made:
        yield made


def test_what_was_added_is_read_again(store, record):
    store.add(record())
    store.add(record("failed", noise_seed=1))
    assert len(store) == 2
    assert {each.status: each.error for each in store.records()} == {"ok": None, "failed": "Oh: no"}
    assert store.records([record().key]) == [record()]
    assert store.statuses() == {record().key: "ok", record(noise_seed=1).key: "failed"}


def test_a_cell_has_one_record(store, record):
    for _ in range(3):
        store.add(record())
    assert len(store) == 1


def test_a_failure_gives_way_and_a_result_never_does(store, record):
    store.add(record("failed"))
    store.add(record("timeout"))
    assert store.records()[0].status == "timeout"
    store.add(record(after=0.75))
    store.add(record(after=0.25))
    store.add(record("failed"))
    assert store.records() == [record(after=0.75)]


def test_it_is_one_table(store, record):
    store.add(record())
    store.add(record("failed", noise_seed=1))
    frame = store.frame().set_index("noise_seed")
    assert frame.loc[0, ["condition", "status", "after", "seconds.train", "environment.torch"]].tolist() == [
        *("sn:0.2", "ok", 0.75, 1.5, "2")
    ]
    assert frame.loc[1, "error"] == "Oh: no"
    assert frame.loc[0, "method_settings"] == '{"batch_size": 32, "epochs": 2}'


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_export_writes_the_table(store, record, tmp_path, ending):
    store.add(record())
    path = tmp_path / f"records.{ending}"
    export(store.records(), path)
    found = pd.read_parquet(path) if ending == "parquet" else pd.read_csv(path)
    assert found["after"].tolist() == [0.75]
    assert found["key"].tolist() == [record().key]


def test_an_exported_file_is_a_store_to_read(store, record, tmp_path):
    store.add(record())
    store.add(record("died", noise_seed=1, subset=None, calibrator="rog", calibrator_settings={"layers": ["hidden"]}))
    store.add(Record(record(noise_seed=2).cell, "ok", {"before": 0.5, "after": 0.75, "by_round": [0.5, 0.75]}))
    path = tmp_path / "records.parquet"
    export(store.records(), path)
    with open_store(path) as again:
        assert again.records() == store.records()
        assert again.frame().equals(store.frame())
    with Store(tmp_path / "other.sqlite") as other:
        assert other.read(path) == 3
        assert other.records() == store.records()


def test_other_endings_are_refused(store, tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.parquet or \.csv"):
        export(store.records(), tmp_path / "records.xlsx")


def test_a_reader_sees_what_the_writer_has_written(store, record):
    store.add(record())
    with Store(store.path, read_only=True) as reader:
        assert len(reader) == 1
        store.add(record(noise_seed=1))
        assert len(reader) == 2


def test_a_full_disk_is_a_clear_error_and_loses_nothing(store, record):
    """SQLite itself says that the disk is full when the file may have no more pages."""
    store.add(record())
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    message = r"cannot be written \(.*full\); make room and run again; what was recorded is kept"
    many = [record(noise_seed=seed) for seed in range(1, 100)]
    with pytest.raises(StoreError, match=message):
        any(store.add(each) for each in many)
    kept = len(store)
    assert kept >= 1
    store._connection.execute("PRAGMA max_page_count = 100000")
    store.add(record(noise_seed=500))
    store.close()
    with Store(store.path, read_only=True) as again:
        assert len(again) == kept + 1
        assert again.records([record().key]) == [record()]


def test_a_read_only_store_is_a_clear_error_and_loses_nothing(store, record):
    store.add(record())
    store._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match=r"cannot be written \(.*readonly.*\); make the file and its folder writable"):
        store.add(record(noise_seed=1))
    assert store.records() == [record()]


def test_a_store_opened_to_read_cannot_be_written(store, record):
    store.add(record())
    with Store(store.path, read_only=True) as reader, pytest.raises(StoreError, match="readonly"):
        reader.add(record(noise_seed=1))


def test_what_is_no_store_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no store"):
        open_store(tmp_path / "none.sqlite")
    (tmp_path / "text.sqlite").write_text("not a database at all, but long enough to be looked at" * 20)
    with pytest.raises(StoreError, match="not a database"):
        Store(tmp_path / "text.sqlite")
    sqlite3.connect(tmp_path / "other.sqlite").execute("CREATE TABLE t (x)")
    with pytest.raises(StoreError, match="name a file that truelabel lab run wrote"):
        open_store(tmp_path / "other.sqlite")
    with pytest.raises(StoreError, match="unable to open"):
        Store(tmp_path)


def test_a_damaged_or_foreign_file_is_refused(store, record, tmp_path):
    store.add(record())
    path = tmp_path / "records.parquet"
    with pytest.raises(FileNotFoundError, match="there is no file"):
        open_store(path)
    export(store.records(), path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(StoreError, match="damaged"):
        open_store(path)
    pd.DataFrame({"x": [1]}).to_parquet(path)
    with pytest.raises(StoreError, match="has no column 'dataset'"):
        open_store(path)
