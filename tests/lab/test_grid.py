import pytest

from truelabel import methods
from truelabel.lab import load_grid, names, parse_grid

CONDITIONS = ["clean", "sn:0.2", "sn:0.8", "asn:0.2", "asn:0.4", "idn:0.2", "idn:0.4", "sridn:0.2", "sridn:0.4"]


def test_the_grids_of_the_paper_are_there():
    assert set(names()) == {
        *("paper-table1", "paper-mnist", "paper-real", "paper-post-processors", "paper-label-correction"),
        *(
            "paper-priors",
            "paper-repeat",
            "paper-transitions",
            "paper-causalnl",
            "paper-time",
            "paper-gains",
            "paper-size",
            "middle",
            "cost",
            "laptop",
            "laptop-claims",
            "smoke",
        ),
    }


def test_table_1_has_its_351_cells_and_five_seeds():
    cells = load_grid("paper-table1").cells
    assert len(cells) == 5 * 351
    assert {(c.dataset, c.condition, c.method) for c in cells} == {
        (dataset, condition, method)
        for dataset in ("mnist", "fashion-mnist", "cifar10")
        for condition in CONDITIONS
        for method in methods.PAPER
    }
    assert {c.noise_seed for c in cells} == {c.training_seed for c in cells} == {0, 1, 2, 3, 4}
    assert all(c.subset is None for c in cells)


def test_the_papers_methods_are_told_the_true_rate_and_the_papers_settings():
    cells = {(c.dataset, c.condition, c.method): c for c in load_grid("paper-table1").cells}
    assert cells["mnist", "idn:0.4", "coteaching"].settings("method") == {"noise_rate": 0.4}
    assert cells["mnist", "clean", "rel"].settings("method") == {"noise_rate": 0.0}
    assert cells["mnist", "idn:0.4", "ce"].settings("method") == {}
    assert cells["mnist", "sn:0.8", "sce"].settings("method") == {"alpha": 0.01}
    assert cells["cifar10", "sn:0.8", "sce"].settings("method") == {}
    assert cells["mnist", "sn:0.8", "earlystop"].settings("method") == {"patience": 1, "keep": "last"}


def keys(name, pattern=None):
    return {cell.key for cell in load_grid(name).only(pattern).cells}


def test_grids_share_the_cells_that_are_the_same():
    table = keys("paper-table1")
    assert len(keys("paper-mnist")) == 585
    assert keys("paper-mnist") < table
    assert len(keys("paper-priors") & table) == 12 * 9 * 5
    assert keys("paper-label-correction", "coteaching npc-paper") < table
    assert keys("paper-post-processors", "idn:0.4 npc-paper") < table
    assert keys("paper-real") == keys("paper-post-processors", "clean npc-paper")


def test_the_papers_grids_train_the_released_networks():
    released = {"mnist": "cnn-released", "fashion-mnist": "cnn-released", "cifar10": "cnn-9-released"}
    released |= {"food101": "resnet50", "clothing1m": "resnet50"}
    for name in names():
        if name.startswith("paper-") and name != "paper-causalnl":
            assert all(c.network == released[c.dataset] for c in load_grid(name).cells), name


def test_the_learning_rate_of_causalnl_falls_when_it_does_in_the_released_experiments():
    for name in names():
        for cell in load_grid(name).cells if name.startswith("paper-") else ():
            if cell.method == "causalnl":
                method = methods.build("causalnl", **cell.settings("method"))
                real = cell.dataset in ("food101", "clothing1m")
                assert method.at(method.decay_from) == (int(0.6 * method.epochs) if real else 80), (name, cell.title)


def test_nobody_knows_the_rate_of_real_mistakes():
    for name in ("paper-real", "paper-post-processors"):
        for cell in load_grid(name).cells:
            if cell.dataset in ("food101", "clothing1m"):
                assert "noise_rate" not in cell.settings("method")
                assert cell.settings("method")["batch_size"] == 32
                assert cell.settings("method")["augment"] == "crop-flip"
    epochs = {(c.dataset, c.method): c.settings("method")["epochs"] for c in load_grid("paper-real").cells}
    assert epochs["food101", "ce"] == 100
    assert epochs["food101", "rel"] == 50
    assert epochs["clothing1m", "rel"] == 10


def test_the_laptop_grid_is_table_1_in_small():
    cells = load_grid("laptop").cells
    found = {(c.dataset, c.condition, c.method, c.noise_seed) for c in cells}
    assert len(found) == 2 * 9 * 13 * 3
    assert {c.calibrator for c in cells} == {"npc", "npc-paper"}
    assert len(cells) == 2 * len({c.classifier_key for c in cells}) == 2 * 702
    epochs = {c.method: c.settings("method")["epochs"] for c in cells}
    for method in set(methods.PAPER) - {"rel"}:
        assert epochs[method] == (40 if method == "cores2" else 80), method


def test_rel_of_the_laptop_grid_takes_its_steps_before_its_rate_falls():
    rel = next(c for c in load_grid("laptop").cells if c.method == "rel")
    method = methods.build("rel", **rel.settings("method"))
    steps = method.at(0.2) * round(0.9 * rel.subset / method.batch_size)
    assert steps > 800


def test_the_other_grids_hold_what_their_tables_do():
    correction = {(c.method, c.calibrator, c.trusted) for c in load_grid("paper-label-correction").cells}
    assert correction == {
        *(
            ("joint", "identity", 0.0),
            ("lrt", "identity", 0.0),
            ("mlc", "identity", 0.1),
            ("causalnl", "identity", 0.0),
        ),
        *(("coteaching", name, 0.1 if name == "mlc" else 0.0) for name in ("lrt", "mlc", "causalnl", "npc-paper")),
    }
    priors = load_grid("paper-priors").cells
    assert len(priors) == 2 * 12 * 9 * 5
    assert len({c.classifier_key for c in priors}) == 12 * 9 * 5
    assert {c.rounds for c in load_grid("paper-repeat").cells} == {5}
    assert {c.network for c in load_grid("paper-causalnl").cells} == {"resnet34"}
    assert {c.method for c in load_grid("paper-transitions").cells if c.transitions} == {"ce"}


def test_a_grid_that_stands_beside_the_papers_knn_runs_the_papers_knn():
    for name in names():
        if name.startswith("paper-"):
            assert "knn" not in {cell.calibrator for cell in load_grid(name).cells}, name
    assert "knn-paper" in {cell.calibrator for cell in load_grid("paper-post-processors").cells}


def test_rog_has_two_layers_to_weigh():
    cells = [cell for cell in load_grid("paper-post-processors").cells if cell.calibrator == "rog"]
    assert cells
    assert all(cell.view == "logits" and "layers" not in cell.settings("calibrator") for cell in cells)


def test_the_venn_table_has_its_grid():
    grid = load_grid("paper-gains")
    assert (grid.layout, grid.paper) == ("gains", ("gains",))
    assert {(c.dataset, c.condition, c.calibrator) for c in grid.cells} == {
        *(("cifar10", "sn:0.2", "npc-paper"), ("cifar10", "sn:0.2", "causalnl"))
    }


def test_the_papers_size_has_all_images_and_the_released_network():
    cells = load_grid("paper-size").cells
    assert {(c.dataset, c.subset, c.network, c.method) for c in cells} == {
        ("fashion-mnist", None, "cnn-released", "ce")
    }
    assert {c.calibrator for c in cells} == {"npc-paper", "npc", "knn-paper", "rog"}
    seeds = {condition: {c.noise_seed for c in cells if c.condition == condition} for condition in CONDITIONS}
    assert {name for name, found in seeds.items() if found} == {"clean", "sn:0.2", "asn:0.4", "idn:0.4", "sridn:0.4"}
    assert {name for name, found in seeds.items() if found == {0, 1, 2}} == {"sn:0.2", "idn:0.4"}
    assert [c.noise_seed for c in cells] == sorted(
        c.noise_seed for c in cells
    )  # every condition once, before more seeds
    assert len({c.classifier_key for c in cells}) == 9
    assert {c.settings("calibrator").get("trunk") for c in cells if c.calibrator == "npc-paper"} == {"classifier"}
    assert {c.view for c in cells if c.calibrator == "rog"} == {"logits"}


def test_middle_is_table_1_with_fewer_images_and_shows_that_cifar10_runs():
    cells = load_grid("middle").cells
    assert {c.subset for c in cells} == {10_000}
    assert {(c.dataset, c.network, c.method) for c in cells if c.dataset == "cifar10"} == {
        ("cifar10", "cnn-9-released", "ce")
    }
    small = [c for c in cells if c.dataset != "cifar10"]
    assert {c.network for c in small} == {"cnn-released"}
    axes = [{c.dataset for c in small}, {c.condition for c in small}, {c.method for c in small}]
    assert axes == [{"mnist", "fashion-mnist"}, {"sn:0.2", "idn:0.4"}, set(methods.PAPER)]
    assert {(c.calibrator, c.noise_seed) for c in small} == {(way, k) for way in ("npc-paper", "npc") for k in (0, 1)}
    assert len(small) == 2 * 2 * 13 * 2 * 2
    assert {c.settings("method").get("noise_rate") for c in small if c.method == "coteaching"} == {0.2, 0.4}


def test_cost_has_the_networks_of_the_papers_generated_noise():
    wanted = {c.network for name in names() if name.startswith("paper-") for c in load_grid(name).cells}
    assert {c.network for c in load_grid("cost").cells} == wanted - {"resnet50"}  # its images are not to be had


def test_a_block_is_the_product_of_its_axes_and_a_rule_changes_some(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("""
title = "Mine"
[[block]]
dataset = "digits"
noise = ["clean", "sn:0.2"]
method = ["ce", "sce"]
method_settings = { epochs = 3 }
seed = [0, 1]
noise_seed = 7
[[rule]]
when = { method = "sce", noise = "sn*" }
set = { method_settings = { alpha = 0.5 }, network = "mlp" }
""")
    grid = load_grid(file)
    assert (grid.name, grid.title, len(grid.cells)) == ("mine", "Mine", 8)
    assert {cell.noise_seed for cell in grid.cells} == {7}
    assert [cell.training_seed for cell in grid.cells] == [0] * 4 + [1] * 4
    changed = [cell for cell in grid.cells if cell.network == "mlp"]
    assert {(c.method, c.condition) for c in changed} == {("sce", "sn:0.2")}
    assert changed[0].settings("method") == {"epochs": 3, "alpha": 0.5}


def test_a_cell_named_twice_is_one_cell():
    assert len(parse_grid({"block": [{"dataset": "digits"}, {"dataset": ["digits"]}]}, "twice").cells) == 1


def test_only_chooses_by_words():
    grid = load_grid("paper-table1")
    assert {(c.dataset, c.condition, c.method) for c in grid.only("mnist idn:* ce").cells} == {
        *(("mnist", "idn:0.2", "ce"), ("mnist", "idn:0.4", "ce"))
    }
    with pytest.raises(
        ValueError, match=r"No cell of paper-table1 matches 'nosuch'; a cell is named like 'mnist clean"
    ):
        grid.only("nosuch")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = 3 4", "The grid wrong is not right"),
        ("blocks = []", "it has blocks, which a grid has not"),
        ("title = 'x'", r"it has no \[\[block\]\]"),
        ("[[block]]\ndataset='digits'\nmehtod='ce'", "a block has mehtod, which a cell has not"),
        ("[[block]]\ndataset='digits'\nmethod='nosuch'", "no method named 'nosuch'"),
        ("[[block]]\nnoise='clean'", "dataset"),
        ("layout='odd'\n[[block]]\ndataset='digits'", "layout must be one of"),
        ("[[block]]\ndataset='digits'\n[[rule]]\nwhen={}", "a .*rule.* has when and set"),
    ],
)
def test_mistakes_are_named(tmp_path, text, message):
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(ValueError, match=message):
        load_grid(tmp_path / "wrong.toml")


def test_a_grid_that_is_not_there():
    with pytest.raises(
        FileNotFoundError, match=r"There is no grid named nosuch; pass a TOML file, or one of .*laptop, "
    ):
        load_grid("nosuch")
