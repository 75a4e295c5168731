import dataclasses
import pickle

import pytest

from truelabel.lab import Cell

# Another value for every field, and what must be there for it to be allowed.
OTHER = {
    "dataset": ("mnist", {}),
    "subset": (81, {}),
    "test_subset": (None, {}),
    "noise": ("idn:0.2", {}),
    "rate": (0.3, {"noise": "sn"}),
    "method": ("sce", {}),
    "network": (None, {}),
    "pretrained": (True, {"network": "resnet34"}),
    "method_settings": ({"epochs": 3, "batch_size": 32}, {}),
    "calibrator": ("temperature", {}),
    "calibrator_settings": ({"k": 5}, {"calibrator": "knn"}),
    "view": ("hidden", {}),
    "trusted": (0.2, {"calibrator": "mlc", "trusted": 0.1}),
    "rounds": (2, {}),
    "transitions": (True, {}),
    "data_seed": (1, {}),
    "noise_seed": (1, {}),
    "training_seed": (1, {}),
    "calibration_seed": (1, {}),
    "threads": (2, {}),
}


def test_the_key_is_the_same_on_every_machine(tiny):
    assert tiny().key == "d20b4292c5ba2c58792c4b9ba9723673"


def test_every_field_has_another_value():
    assert set(OTHER) == {field.name for field in dataclasses.fields(Cell)}


@pytest.mark.parametrize("name", OTHER)
def test_the_key_changes_with_any_field(tiny, name):
    value, ground = OTHER[name]
    assert tiny(**ground).key != tiny(**{**ground, name: value}).key


def test_the_key_knows_no_order_and_no_spelling(tiny):
    settings = {"batch_size": 32, "epochs": 2}
    assert tiny(method_settings=settings).key == tiny(method_settings=dict(reversed(settings.items()))).key
    assert tiny(noise="sn:0.2").key == tiny(noise="sn", rate=0.2).key == tiny(noise="sn:0.20").key


def test_calibrators_share_a_classifier_and_methods_share_the_noise(tiny):
    cell = tiny()
    for change in (
        {"calibrator": "knn"},
        {"view": "hidden"},
        {"calibration_seed": 1},
        {"test_subset": 50},
        {"rounds": 2},
    ):
        assert tiny(**change).classifier_key == cell.classifier_key
        assert tiny(**change).key != cell.key
    for change in ({"method": "sce"}, {"training_seed": 1}, {"network": "cnn-tiny"}):
        assert tiny(**change).classifier_key != cell.classifier_key
        assert tiny(**change).noise_key == cell.noise_key
    for change in ({"noise_seed": 1}, {"data_seed": 1}, {"noise": "sn:0.3"}, {"subset": 70}, {"threads": 2}):
        assert tiny(**change).noise_key != cell.noise_key


def test_noise_that_trains_a_classifier_depends_on_its_network(tiny):
    assert tiny(noise="sridn:0.2").noise_key != tiny(noise="sridn:0.2", network="cnn-tiny").noise_key


def test_a_classifier_that_is_told_true_labels_depends_on_how_many(tiny):
    told = [tiny(method="mlc", trusted=share).classifier_key for share in (0.1, 0.2)]
    assert told[0] != told[1]
    told = [tiny(calibrator="mlc", trusted=share).classifier_key for share in (0.1, 0.2)]
    assert told[0] == told[1] == tiny().classifier_key


def test_a_cell_survives_json_and_pickle(tiny):
    cell = tiny(calibrator="rog", calibrator_settings={"layers": ["hidden"]})
    assert Cell.from_dict(cell.to_dict()) == cell
    assert pickle.loads(pickle.dumps(cell)) == cell
    assert hash(cell) == hash(Cell.from_dict(cell.to_dict()))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dataset": "minst"}, "no dataset named 'minst'"),
        ({"noise": "xn:0.2"}, "no noise 'xn'"),
        ({"noise": "sn:1.2"}, "rate must be at least 0 and below 1"),
        ({"noise": "clean", "rate": 0.2}, "clean has no noise"),
        ({"rate": "much"}, "rate must be a number"),
        ({"noise": "sn:much"}, "rate must be a number, but is 'much'"),
        ({"noise": "sn:0.2", "rate": 0.3}, "The noise sn:0.2 has its rate, but rate is 0.3 as well"),
        ({"method": "ec"}, "no method named 'ec'"),
        ({"method_settings": {"epoch": 3}}, "does not take these parameters"),
        ({"method_settings": {"epochs": {}}}, "epochs in method_settings must be a number"),
        ({"network": "cnn"}, "no network named 'cnn'"),
        ({"calibrator": "ncp"}, "no calibrator named 'ncp'"),
        ({"calibrator": "knn", "calibrator_settings": {"kk": 3}}, "knn does not take kk"),
        (
            {"calibrator": "npc", "calibrator_settings": {"random_state": 3}},
            "random_state of a calibrator is the lab's",
        ),
        ({"calibrator": "npc", "calibrator_settings": {"trunk": "mine"}}, 'trunk can be "classifier" only'),
        ({"view": "raw"}, "no view named 'raw'"),
        ({"subset": 0}, "subset must be a whole number of at least 1"),
        ({"noise_seed": -1}, "noise_seed must be a whole number of at least 0"),
        ({"rounds": True}, "rounds must be a whole number"),
        ({"threads": 1.5}, "threads must be a whole number"),
        ({"trusted": 0.1}, "neither ce nor identity uses clean labels"),
        ({"method": "mlc"}, "mlc uses clean labels"),
        ({"trusted": 1.0}, "trusted must be a share"),
        ({"transitions": 1}, "transitions must be true or false"),
        ({"pretrained": True}, "pretrained weights for resnet34 and resnet50, not for mlp"),
    ],
)
def test_mistakes_are_named(tiny, fields, message):
    with pytest.raises(ValueError, match=message):
        tiny(**fields)


def test_an_unknown_field_is_named(tiny):
    with pytest.raises(ValueError, match="A cell has no rat; it has dataset"):
        Cell.from_dict({"dataset": "digits", "rat": 0.2})
