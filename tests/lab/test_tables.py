import csv
import io

import pytest

from truelabel.lab import Record, Store, parse_grid
from truelabel.lab.compare import compare
from truelabel.lab.store import to_frame
from truelabel.lab.summary import summarise
from truelabel.lab.tables import sheet

# Differences of three seeds: 10, 12, 14 points (t = 12 / (2 / √3) = 10.39, p = 0.0091), 1, -1, 0.3 (p = 0.88), and
# -10, -12, -14.
BEFORE = (0.50, 0.52, 0.54)
AFTER = {"clean": (0.60, 0.64, 0.68), "sn:0.2": (0.51, 0.51, 0.543), "idn:0.4": (0.40, 0.40, 0.40)}


def made(**block):
    block = {
        "dataset": "mnist",
        "noise": [*AFTER],
        "method": "ce",
        "calibrator": "npc-paper",
        "seed": [0, 1, 2],
    } | block
    return parse_grid({"paper": ["table1", "mnist"], "block": [block]}, "made")


def records(grid, after=AFTER, **more):
    return [
        Record(
            cell,
            "ok",
            {
                "before": BEFORE[cell.noise_seed],
                "after": after[cell.condition][cell.noise_seed],
                "by_round": None,
                **more,
            },
            {"train": 10.0 + cell.noise_seed, "fit": 1.0},
        )
        for cell in grid.cells
    ]


def test_means_spreads_and_tests_by_hand():
    found = summarise(to_frame(records(made())), ("table1", "mnist")).set_index("condition")
    clean = found.loc["clean"]
    assert clean["seeds"] == 3
    assert clean["before"] == pytest.approx(52.0)
    assert clean["before_sd"] == pytest.approx(2.0)
    assert clean["after"] == pytest.approx(64.0)
    assert clean["after_sd"] == pytest.approx(4.0)
    assert clean["gain"] == pytest.approx(12.0)
    assert clean["p"] == pytest.approx(0.00914, abs=1e-5)
    assert clean["holm"] == pytest.approx(3 * 0.00914, abs=1e-4)
    assert found["verdict"].to_dict() == {"clean": "improved", "sn:0.2": "unchanged", "idn:0.4": "harmed"}
    assert (clean["paper_before"], clean["paper_after"]) == (97.8, 98.2)
    assert found.loc["sn:0.2", ["paper_before", "paper_after"]].tolist() == [86.3, 95.3]


def test_the_table_as_markdown():
    text = sheet(made(), to_frame(records(made()))).render("markdown")
    lines = text.splitlines()
    assert lines[0] == "**mnist: test accuracy (%), 3 seeds**"
    assert lines[2] == "|  | clean | paper | SN 20 % | paper | IDN 40 % | paper |"
    assert lines[4] == "| ce | 52.0 ± 2.0 | 97.8 | 52.0 ± 2.0 | 86.3 | 52.0 ± 2.0 | 66.3 |"
    assert lines[5] == "| with npc-paper | **64.0 ± 4.0** | 98.2 | 52.1 ± 1.9 | 95.3 | 40.0 ± 0.0 | 89.0† |"
    assert "The columns named paper: figures of the paper, from Table 1 and the MNIST appendix." in text
    assert (
        "npc-paper: of 3 cells 1 improved, 1 unchanged, 1 harmed (paired t-test, p < 0.05); corrected for all cells, "
        "1 improved and 1 harmed by Holm, 1 and 1 by Benjamini–Hochberg; by the mean alone 2 ahead and 1 "
        "behind; mean gain +0.0 points." in text
    )
    assert "† The paper disagrees with itself: mnist idn:0.4 ce npc: 89 in Table 1, 89.1 in the MNIST appendix." in text


def test_few_of_many_survive_the_correction():
    methods = ["ce", "sce", "joint", "rel", "tvr", "forward"]
    grid = made(noise="clean", method=methods)
    found = sheet(grid, to_frame(records(grid)))
    # Holm multiplies the smallest of six equal p by six: 6 · 0.0091 = 0.055. Benjamini and Hochberg leave them be.
    assert "of 6 cells 6 improved, 0 unchanged, 0 harmed" in found.notes[0]
    assert "0 improved and 0 harmed by Holm, 6 and 0 by Benjamini–Hochberg; by the mean alone 6 ahead" in found.notes[0]


def test_the_table_as_latex_and_csv():
    found = sheet(made(), to_frame(records(made())))
    latex = found.render("latex")
    assert "\\begin{tabular}{lrrrrrr}" in latex
    assert " & clean & paper & SN 20 \\% & paper & IDN 40 \\% & paper \\\\" in latex
    assert "with npc-paper & \\textbf{64.0 $\\pm$ 4.0} & 98.2 & 52.1 $\\pm$ 1.9 & 95.3" in latex
    rows = list(csv.DictReader(io.StringIO(found.render("csv"))))
    assert [row["verdict"] for row in rows] == ["improved", "unchanged", "harmed"]
    with pytest.raises(ValueError, match="no style 'html'"):
        found.render("html")


def test_the_table_on_a_terminal():
    from rich.console import Console

    console = Console(file=io.StringIO(), width=120)
    found = sheet(made(), to_frame(records(made())))
    console.print(*found.rich(120))
    shown = console.file.getvalue()
    assert "52.0 ± 2.0 │  97.8" in shown
    assert "1 improved, 1 unchanged, 1 harmed" in " ".join(shown.split())


def test_a_narrow_terminal_gets_the_table_in_parts():
    (table,) = sheet(made(), to_frame(records(made()))).tables
    parts = list(table.split(62))
    assert [part.head for part in parts] == [
        ["", "clean", "paper", "SN 20 %", "paper"],
        ["", "IDN 40 %", "paper"],
    ]
    assert [entry.text for entry in parts[1].rows[1]] == ["  with npc-paper", "40.0 ± 0.0", "89.0†"]
    assert next(table.split(1)).head == ["", "clean", "paper"]


def test_cells_that_are_missing_or_failed_are_counted():
    some = records(made())[:-2]
    failed = Record(made().cells[-1], "timeout", error="too long")
    found = sheet(made(), to_frame([*some, failed]))
    assert found.notes[0] == "2 of 9 cells are missing, 1 of them failed."
    assert found.tables[0].title == "mnist: test accuracy (%), 2 to 3 seeds"


def test_of_one_seed_nothing_is_tested():
    grid = made(seed=0)
    found = sheet(grid, to_frame(records(grid)))
    assert found.frame["verdict"].isna().all()
    assert [entry.text for entry in found.tables[0].rows[1][1:3]] == ["60.0", "98.2"]
    assert not any("improved" in note for note in found.notes)


def test_nothing_to_show_is_said():
    with pytest.raises(ValueError, match="has no finished cell of made; run truelabel lab run made first"):
        sheet(made(), to_frame([]))


def test_settings_that_differ_are_named_and_set_beside_their_own_figures():
    axes = {"dataset": "cifar10", "noise": "clean", "method": "ce", "calibrator": "npc-paper", "seed": [0, 1]}
    blocks = [axes, axes | {"calibrator_settings": {"shape": "top-k", "top_k": 2}}]
    grid = parse_grid({"paper": ["priors"], "block": blocks}, "priors")
    found = sheet(grid, to_frame(records(grid)))
    assert [row[0].text.strip() for row in found.tables[0].rows] == [
        *("ce", "with npc-paper", "with npc-paper, shape=top-k, top_k=2")
    ]
    assert [row[2].text for row in found.tables[0].rows[1:]] == ["89.0", "80.0"]


def test_cells_that_a_table_cannot_tell_apart_are_refused():
    grid = made(method_settings={"epochs": 3})
    both = to_frame([*records(made()), *records(grid)])
    with pytest.raises(ValueError, match="Two cells of mnist clean ce npc-paper have the same seeds"):
        summarise(both)


def test_calibrators_side_by_side():
    grid = made(noise="clean", calibrator=["knn", "npc-paper"])
    found = sheet(grid, to_frame(records(grid)), "calibrators")
    assert found.tables[0].head == ["", "noise", "classifier", "paper", "knn", "npc-paper", "paper"]
    assert [entry.text for entry in found.tables[0].rows[0]] == [
        *("ce", "clean", "52.0 ± 2.0", "97.8", "64.0 ± 4.0", "64.0 ± 4.0", "98.2")
    ]


def test_the_papers_knn_is_the_vote_of_confident_predictions():
    block = {"dataset": "food101", "method": "ce", "calibrator": ["knn", "knn-paper"]}
    grid = parse_grid({"paper": ["real-post-processors"], "block": [block]}, "made")
    found = summarise(to_frame(records(grid)), grid.paper).set_index("way")
    assert found.loc["knn-paper", "paper_after"] == 67.25
    assert found.loc["knn", "paper_after"] != 67.25  # none


def test_rounds():
    grid = made(noise="clean", rounds=2)
    found = sheet(grid, to_frame(records(grid, by_round=[0.7, 0.6])), "rounds")
    assert found.tables[0].head == ["", "noise", "calibrator", "0", "1", "2"]
    assert [entry.text for entry in found.tables[0].rows[0][3:]] == ["52.0 ± 2.0", "70.0 ± 0.0", "60.0 ± 0.0"]


def test_transitions():
    axes = {"dataset": "cifar10", "noise": "idn:0.4", "seed": [0, 1, 2]}
    blocks = [
        axes | {"method": "forward", "calibrator": "identity"},
        axes | {"method": "ce", "calibrator": "npc-paper"},
    ]
    grid = parse_grid({"paper": ["transitions"], "layout": "transitions", "block": blocks}, "t")
    made = [
        Record(r.cell, "ok", r.result | ({"t_method": 0.004} if r.cell.method == "forward" else {"t_from_h": 0.002}))
        for r in records(grid)
    ]
    found = sheet(grid, to_frame(made))
    assert found.tables[0].head == ["", "forward", "paper", "npc-paper, T from H", "paper"]
    assert [entry.text for entry in found.tables[0].rows[0]] == [
        *("IDN 40 %", "0.0040 ± 0.0000", "0.0041", "0.0020 ± 0.0000", "0.0018")
    ]


def test_time():
    axes = {"dataset": "mnist", "noise": "idn:0.2", "seed": [0, 1, 2]}
    blocks = [axes | {"method": "tvr", "calibrator": "identity"}, axes | {"method": "ce", "calibrator": "npc-paper"}]
    grid = parse_grid({"paper": ["time"], "layout": "time", "block": blocks}, "t")
    after = {"idn:0.2": (0.5, 0.5, 0.5)}
    found = sheet(grid, to_frame(records(grid, after)))
    assert [[entry.text for entry in row] for row in found.tables[0].rows] == [
        ["training by tvr", "mnist", "IDN 20 %", "11.0 ± 1.0", "468.8"],
        ["npc-paper on ce", "mnist", "IDN 20 %", "1.0 ± 0.0", "28.2"],
    ]


def test_gains_and_losses_stand_beside_the_papers_sixteen_figures():
    axes = {"dataset": "cifar10", "noise": "sn:0.2", "seed": [0, 1, 2]}
    block = axes | {"method": "ce", "calibrator": ["npc-paper", "causalnl"]}
    grid = parse_grid({"paper": ["gains"], "layout": "gains", "block": [block]}, "t")
    ours = {f"gains_{region}": 10 * (place + 1) for place, region in enumerate("abcdefgh")}
    found = sheet(grid, to_frame(records(grid, **ours)))
    head, rows = found.tables[0].head, found.tables[0].rows
    assert head[:5] == ["", "noise", "calibrator", "(a)", "paper"]
    assert [entry.text for entry in rows[0][:3]] == ["ce, cifar10", "SN 20 %", "npc-paper"]
    assert [entry.text for entry in rows[0][3:-2:2]] == [f"{10 * k} ± 0" for k in range(1, 9)]
    assert [row[-2].text for row in rows] == ["-40 ± 0"] * 2  # 20 + 60 - 40 - 80
    theirs = [[entry.text for entry in row[4::2]] for row in rows]
    assert theirs == [
        ["8", "89", "39799", "86", "9035", "949", "15", "19", "933"],
        ["39", "58", "32459", "7426", "2446", "7538", "31", "3", "167"],
    ]
    assert "figures of the paper, from the table of gains and losses" in found.notes[0]


def test_gains_need_records_that_count_them():
    grid = parse_grid({"layout": "gains", "block": [{"dataset": "mnist"}]}, "t")
    done = [Record(cell, "ok", {"before": 0.5, "after": 0.5}) for cell in grid.cells]
    with pytest.raises(ValueError, match="No record counts gains and losses"):
        sheet(grid, to_frame(done))


def test_two_runs_side_by_side(tmp_path):
    later = {"clean": (0.61, 0.65, 0.69), "sn:0.2": (0.51, 0.51, 0.543), "idn:0.4": (0.39, 0.41, 0.39)}
    other = made(method_settings={"epochs": 3})
    found = compare(to_frame(records(made())), to_frame(records(other, later)[:-1]), ("old", "new"))
    assert found.frame["difference"].tolist() == pytest.approx([1.0, 0.0, 0.0])
    assert found.tables[0].head[4:6] == ["old", "new"]
    assert [entry.text for entry in found.tables[0].rows[0][3:7]] == ["3", "64.0", "65.0", "1.00 ± 0.00"]
    assert found.tables[0].rows[0][6].bold
    assert "Of 3 cells new is ahead in 1, behind in 0 and level in 2; with p < 0.05 ahead in 1" in found.notes[0]
    assert found.notes[-1] == "1 records have no counterpart."


def test_runs_with_nothing_in_common_are_refused():
    with pytest.raises(ValueError, match="A and B have no cell in common"):
        compare(to_frame(records(made())), to_frame(records(made(dataset="cifar10"))))
    with pytest.raises(ValueError, match="B has no finished cell"):
        compare(to_frame(records(made())), to_frame([]))


def test_a_store_of_the_table(tmp_path):
    with Store(tmp_path / "lab.sqlite") as store:
        for record in records(made()):
            store.add(record)
        assert len(sheet(made(), store.frame()).frame) == 3
