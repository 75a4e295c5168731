from collections import Counter

import pytest

from truelabel.lab import paper


def test_every_table_is_whole():
    assert Counter(each.table for each in paper.figures()) == {
        "table1": 13 * 2 * 20,
        "mnist": 13 * 2 * 9,
        "priors": 12 * 2 * 9,
        "real": 8 * 2 * 2,
        "real-post-processors": 8 * 4 * 2,
        "label-correction": 8 * 2,
        "transitions": 5 * 4,
        "causalnl": 2 * 2,
        "time": 5,
        "gains": 2 * 8,
    }


@pytest.mark.parametrize(
    ("table", "dataset", "noise", "method", "what", "value"),
    [
        ("table1", "mnist", "clean", "ce", "classifier", 97.8),
        ("table1", "mnist", "idn:0.4", "ce", "npc", 89.0),
        ("table1", "fashion-mnist", "sn:0.8", "joint", "npc", 6.0),
        ("table1", "fashion-mnist", "sridn:0.4", "rel", "classifier", 78.1),
        ("table1", "cifar10", "clean", "causalnl", "npc", 89.7),
        ("table1", "cifar10", "sn:0.8", "cores2", "npc", 30.7),
        ("table1", "cifar10", "sridn:0.4", "causalnl", "npc", 63.9),
        ("mnist", "mnist", "sn:0.8", "joint", "classifier", 22.0),
        ("mnist", "mnist", "asn:0.4", "cores2", "npc", 9.8),
        ("mnist", "mnist", "sridn:0.4", "causalnl", "npc", 75.9),
        ("priors", "cifar10", "clean", "ce", "npc-top2", 80.0),
        ("priors", "cifar10", "idn:0.4", "forward", "npc-top2", 76.4),
        ("real", "food101", "clean", "dualt", "npc", 61.82),
        ("real", "clothing1m", "clean", "dualt", "npc", 69.99),
        ("real-post-processors", "clothing1m", "clean", "rel", "rog", 66.12),
        ("label-correction", "cifar10", "sn:0.2", "mlc", "classifier", 71.1),
        ("label-correction", "cifar10", "idn:0.2", "coteaching", "causalnl", 83.3),
        ("transitions", "cifar10", "sn:0.8", "dualt", "transition", 0.0576),
        ("transitions", "cifar10", "idn:0.4", "ce", "npc-transition", 0.0018),
        ("causalnl", "cifar10", "idn:0.4", "causalnl", "npc", 78.83),
        ("time", "mnist", "idn:0.2", "ce", "npc-seconds", 28.2169),
        ("gains", "cifar10", "sn:0.2", "", "causalnl-d", 7426),
    ],
)
def test_figures_read_off_the_page(table, dataset, noise, method, what, value):
    assert paper.figure([table], dataset, noise, method, what).value == value


def test_spreads_and_bold_are_kept():
    found = paper.figure(["label-correction"], "cifar10", "sn:0.2", "coteaching", "npc")
    assert (found.value, found.spread, found.bold) == (85.3, 0.3, True)
    behind = paper.figure(["table1"], "mnist", "clean", "rel", "npc")
    assert (behind.value, behind.spread, behind.bold) == (97.9, None, False)


def test_the_first_table_that_has_a_figure_counts():
    where = ("mnist", "idn:0.4", "coteaching", "npc")
    assert paper.figure(["table1", "mnist"], *where).value == 90.6
    assert paper.figure(["mnist", "table1"], *where).value == 93.3
    assert paper.figure(["table1"], "mnist", "sn:0.2", "ce", "npc") is None
    assert paper.figure([], *where) is None


def test_where_the_paper_disagrees_with_itself():
    found = paper.disagreements()
    assert [each.value for each in found["mnist", "idn:0.4", "coteaching", "npc"]] == [90.6, 93.3]
    assert [each.value for each in found["cifar10", "sn:0.2", "joint", "classifier"]] == [78.9, 80.0]
    assert len(found) == 15
    assert ("cifar10", "idn:0.4", "causalnl", "npc") not in found  # another network, not another figure


def test_the_count_of_the_text_is_not_that_of_the_tables():
    signs = Counter()
    for each in paper.figures():
        if each.what == "npc" and (each.table == "mnist" or (each.table == "table1" and each.dataset != "mnist")):
            before = paper.figure([each.table], each.dataset, each.noise, each.method, "classifier").value
            signs[(each.value > before) - (each.value < before)] += 1
    assert signs == {1: 333, 0: 8, -1: 10}
    assert "333" in paper.ODDITIES[0]
