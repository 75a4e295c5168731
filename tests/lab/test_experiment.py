import numpy as np
import pytest

from truelabel import calibrators, datasets, methods, noise
from truelabel.lab import run_cell
from truelabel.lab.measures import calibration_error, repair
from truelabel.lab.record import Record

SIX = ("identity", "temperature", "knn", "rog", "npc", "npc-paper")


def test_the_figures_are_those_of_the_parts_put_together_by_hand(tiny, place):
    cell = tiny(calibrator="knn", calibrator_settings={"k": 3}, noise_seed=1, training_seed=2, data_seed=3)
    record = run_cell(cell, place)
    data = datasets.load("digits", subset=80, test_subset=60, seed=3)
    noisy = noise.Symmetric(0.2).corrupt(data.train, seed=1)
    way = methods.CE(epochs=2, batch_size=32)
    trained = way.fit(data.train.with_labels(noisy), "mlp", seed=2, progress=False)
    train, test = (trained.predictions(part) for part in (data.train.with_labels(noisy), data.test))
    train, test = (said.replace(features=said.inputs.reshape(len(said), -1)) for said in (train, test))
    knn = calibrators.KNN(3).fit(train)
    classes = knn.predict(train)
    assert record.status == "ok"
    assert record.result["before"] == np.mean(test.hard == data.test.labels)
    assert record.result["after"] == np.mean(knn.predict(test) == data.test.labels)
    assert record.result["fitted"] == np.mean(train.hard == noisy.labels)
    assert record.result["noise_rate"] == noisy.rate
    assert record.result["repair"] == np.mean(classes[noisy.flipped] == data.train.labels[noisy.flipped])
    y, right = data.train.labels, noisy.labels == data.train.labels
    regions = ((0, 0), (0, 1), (1, 1), (1, 0))  # whether the classifier hits, and the calibrator
    counted = [
        np.sum((right == label) & ((train.hard == y) == before) & ((classes == y) == after))
        for label in (True, False)
        for before, after in regions
    ]
    assert [record.result[f"gains_{region}"] for region in "abcdefgh"] == counted
    assert (record.result["n"], record.result["n_test"], record.result["epochs"]) == (80, 60, 2)


def test_a_cell_is_a_pure_function_of_its_configuration(tiny, tmp_path, place):
    from truelabel.lab import Place

    cell = tiny(calibrator="npc-paper", calibrator_settings={"epochs": 1, "trunk": "classifier"})
    first = run_cell(cell, place)
    assert run_cell(cell, Place(tmp_path / "elsewhere")).outcome() == first.outcome()
    assert run_cell(cell, place).outcome() == first.outcome()


def test_one_classifier_and_six_calibrators_train_one_classifier(tiny, place, monkeypatch):
    trainings = []
    fit = methods.CE.fit
    monkeypatch.setattr(
        methods.CE, "fit", lambda self, *args, **more: trainings.append(self) or fit(self, *args, **more)
    )
    records = [run_cell(tiny(calibrator=name), place) for name in SIX]
    assert len(trainings) == 1
    assert len({record.result["before"] for record in records}) == 1
    assert len({record.seconds["train"] for record in records}) == 1
    assert len(list((place.cache / "classifiers").rglob("trained.json"))) == 1
    assert not list((place.cache / "unfinished").rglob("*.safetensors"))


def test_an_interrupted_training_goes_on_to_the_same_figures(tiny, tmp_path, place, monkeypatch):
    from truelabel.lab import Place, stages

    cell = tiny(method_settings={"epochs": 10, "batch_size": 32}, calibrator="identity")
    whole = run_cell(cell, Place(tmp_path / "whole"))
    epoch, begun = methods.CE._epoch, []

    def stop(self, run):
        begun.append(run.epoch)
        if len(begun) == 7:
            raise KeyboardInterrupt
        epoch(self, run)

    monkeypatch.setattr(methods.CE, "_epoch", stop)
    with pytest.raises(KeyboardInterrupt):
        run_cell(cell, place)
    assert list(stages.Cache(place.cache).scratch(cell.classifier_key).iterdir())
    again = run_cell(cell, place)
    assert begun == [*range(7), 6, 7, 8, 9]
    assert again.outcome() == whole.outcome()


def test_rounds_apply_the_calibrator_to_what_it_said(tiny, place):
    from truelabel.analysis import repeat

    settings = {"epochs": 1, "k": 3}
    cell = tiny(calibrator="npc-paper", calibrator_settings=settings, rounds=3, view="hidden")
    record = run_cell(cell, place)
    assert len(record.result["by_round"]) == 3
    assert record.result["after"] == record.result["by_round"][-1]
    from truelabel.lab import stages

    trained, _ = stages.classifier(cell, place)
    train, test = stages.predictions(cell, place, trained)
    npc = calibrators.build("npc-paper", random_state=0, progress=False, **settings)
    truth = stages.load(cell, place).test.labels
    assert record.result["by_round"] == [each.accuracy for each in repeat(npc, train, test, truth, rounds=3)[1:]]
    assert run_cell(tiny(calibrator="knn"), place).result["by_round"] is None


def test_errors_of_transition_matrices(tiny, place):
    from truelabel.transitions import count_transition, transition_error

    cell = tiny(method="forward", noise="sn:0.4", calibrator="npc", transitions=True, subset=100)
    record = run_cell(cell, place)
    for name in ("t_method", "t_counted", "t_prior", "t_from_h"):
        assert 0 < record.result[name] < 0.2
    plain = run_cell(tiny(noise="sn:0.4"), place).result
    assert plain["t_method"] is None
    assert plain["t_from_h"] is None
    data = datasets.load("digits", subset=80)
    noisy = noise.Symmetric(0.4).corrupt(data.train, seed=0)
    trained = methods.CE(epochs=2, batch_size=32).fit(data.train.with_labels(noisy), "mlp", seed=0, progress=False)
    counted = count_transition(trained.predictions(data.train).hard, noisy.labels, 10)
    assert plain["t_counted"] == transition_error(counted, noisy.transition).squared


def test_rog_weighs_the_hidden_layer_and_the_logits(tiny, place):
    import torch

    from truelabel.lab import stages

    cell = tiny(calibrator="rog", view="logits", subset=400)
    trained, _ = stages.classifier(cell, place)
    train, test = stages.predictions(cell, place, trained)
    for said in (train, test):
        logits = torch.from_numpy(said.views["features"]).softmax(dim=1)
        np.testing.assert_allclose(logits, said.probs, atol=1e-5)
    rog = calibrators.RoG(random_state=0).fit(train)
    assert set(rog.weights_) == {"hidden", "features"}
    assert sum(rog.weights_.values()) == pytest.approx(1)
    truth = stages.load(cell, place).test.labels
    assert run_cell(cell, place).result["after"] == np.mean(rog.predict(test) == truth)


def test_a_method_and_a_calibrator_may_be_told_true_labels(tiny, place):
    for told in ({"method": "mlc"}, {"calibrator": "mlc", "calibrator_settings": {"epochs": 1, "batch_size": 32}}):
        assert run_cell(tiny(**told, trusted=0.2), place).result["after"] > 0


def test_a_record_says_with_what_it_was_made(tiny, place):
    import torch

    import truelabel

    record = run_cell(tiny(), place)
    assert record.environment["truelabel"] == truelabel.__version__
    assert torch.__version__.startswith(record.environment["torch"].partition("+")[0])
    assert record.environment["device"] != "auto"
    assert set(record.seconds) == {"noise", "train", "predict", "fit", "calibrate", "transitions"}
    assert record.seconds["train"] > 0
    assert Record.from_json(record.to_json()) == record


def test_calibration_error_by_hand():
    probs = np.array([[0.95, 0.05], [0.95, 0.05], [0.4, 0.6], [0.3, 0.7]])
    # Bins of 1/15: two at 0.95 of which one is right, one at 0.6 that is right, one at 0.7 that is wrong.
    assert calibration_error(probs, np.array([0, 1, 1, 0])) == pytest.approx((0.9 + 0.4 + 0.7) / 4)


def test_repair_counts_the_wrongly_labelled_alone():
    truth, flipped = np.array([0, 1, 2, 3]), np.array([True, True, False, False])
    assert repair(np.array([0, 0, 0, 0]), truth, flipped) == 0.5
    assert repair(truth, truth, np.zeros(4, dtype=bool)) is None
