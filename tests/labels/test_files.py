import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truelabel.labels import LabelIssues, to_label_studio, write_label_studio, write_table


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_come_back_as_they_were(found: LabelIssues, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"issues.{ending}"
    write_table(found.table, path)
    again = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
    assert again["id"].tolist() == found.table["id"].tolist()
    np.testing.assert_allclose(again["p_wrong"], found.table["p_wrong"])
    assert again["support"].tolist() == found.table["support"].tolist()
    assert list(tmp_path.iterdir()) == [path]


def test_other_endings_are_refused(found: LabelIssues, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in \.csv or \.parquet"):
        write_table(found.table, tmp_path / "issues.xlsx")


def test_label_studio_gets_a_task_an_instance_with_the_suggested_choice(found: LabelIssues, tmp_path: Path) -> None:
    texts = [f"text of {k}" for k in range(300)]
    tasks = to_label_studio(found, texts, most=5, content="text", control="animal")
    write_label_studio(tasks, tmp_path / "tasks.json")
    read = json.loads((tmp_path / "tasks.json").read_text())
    assert len(read) == 5
    top = found.table.iloc[0]
    first = read[0]
    assert first["data"]["text"] == f"text of {found.table.index[0]}"
    assert (first["data"]["id"], first["data"]["given"]) == (top["id"], top["given"])
    (said,) = first["predictions"]
    assert said["score"] == pytest.approx(top["p_suggested"], abs=1e-6)
    assert said["result"] == [
        {"from_name": "animal", "to_name": "text", "type": "choices", "value": {"choices": [top["suggested"]]}}
    ]


def test_ids_stand_in_for_contents_and_their_number_is_checked(found: LabelIssues) -> None:
    assert to_label_studio(found, most=1)[0]["data"]["image"] == found.table["id"].iloc[0]
    assert len(to_label_studio(found)) == 300
    with pytest.raises(ValueError, match="2 contents for 300 instances"):
        to_label_studio(found, ["a", "b"])
