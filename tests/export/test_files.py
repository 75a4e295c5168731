import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from sklearn.exceptions import NotFittedError
from torch import nn

import truelabel as tl
from truelabel.calibrators.npc.prior import VotePrior
from truelabel.export import FileFormatError, files
from truelabel.networks import CNNTiny
from truelabel.scale import Scale, moments

RNG = np.random.default_rng(0)
LABELS = RNG.integers(3, size=120)
X = (RNG.normal(size=(120, 5)) + LABELS[:, None]).astype(np.float32)
SAID = tl.Predictions(
    np.eye(3)[LABELS] * 0.7 + 0.1,
    {"a": X, "b": X[:, :2]},
    hidden=X[:, 1:],
    inputs=RNG.normal(size=(120, 1, 6, 6)).astype(np.float32),
    labels=LABELS,
    class_names=["x", "y", "z"],
)
ONE_VIEW = SAID.replace(features=X)


def network():
    torch.manual_seed(0)
    return CNNTiny((1, 6, 6), 3)


def npc(recipe="default", **parameters):
    return tl.NPC(recipe, random_state=0, epochs=2, progress=False, **parameters)


class UnitRows(VotePrior):
    """A prior by which rows of one view are brought to the same length."""

    def believe(self, given):
        views = given.predictions.views
        return replace(super().believe(given), scales={"a": Scale("unit", *moments(views["a"]))})


CASES = {
    "default": (npc, ONE_VIEW),
    "default, rows of one length": (lambda: npc(prior=UnitRows()), SAID),
    "default, two views": (npc, SAID),
    "default, another prior": (lambda: npc(prior=VotePrior()), SAID),
    "paper, hidden layer": (lambda: npc("paper"), SAID),
    "paper, features": (lambda: npc("paper"), SAID.replace(hidden=None)),
    "paper, network": (lambda: npc("paper", trunk=network()), SAID),
    "default, network": (lambda: npc(trunk=network(), prior=VotePrior()), SAID),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    make, said = CASES[request.param]
    return make().fit(said), said


@pytest.fixture(scope="module")
def fitted():
    return npc("paper", rho=np.float32(3), k=np.int64(7)).fit(SAID)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "npc.safetensors"


@pytest.fixture
def saved(fitted, path):
    fitted.save(path)
    return path


def rewrite(path, *, config=None, **header):
    """Change the header of a file, and its checksum with it."""
    with safe_open(path, "pt") as file:
        old = file.metadata()
    tensors = load_file(path)
    if config is not None:
        new = config if isinstance(config, str) else json.dumps(json.loads(old["config"]) | config)
        header |= {"config": new, "checksum": files._checksum(new, tensors)}
    save_file(tensors, path, metadata={k: v for k, v in (old | header).items() if v is not None})


def test_a_loaded_calibrator_calibrates_bit_for_bit(case, path):
    fitted, said = case
    fitted.save(path)
    loaded = tl.load(path, trunk=fitted.trunk)
    np.testing.assert_array_equal(loaded.calibrate(said), fitted.calibrate(said))
    np.testing.assert_array_equal(loaded.posterior(said).concentration, fitted.posterior(said).concentration)
    for one, other in zip(loaded.transition(said), fitted.transition(said), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not loaded.network_.training


def test_a_loaded_calibrator_can_be_saved_again(case, path):
    fitted, said = case
    fitted.save(path)
    tl.load(path, trunk=fitted.trunk).save(path)
    np.testing.assert_array_equal(tl.load(path, trunk=fitted.trunk).calibrate(said), fitted.calibrate(said))


def test_parameters_findings_and_names_come_back(fitted, saved):
    loaded = tl.load(saved)
    assert loaded.get_params() == fitted.get_params()
    assert (loaded.rho, loaded.k, loaded.recipe) == (3, 7, "paper")
    assert loaded.report_ == fitted.report_
    assert loaded.history_ == fitted.history_
    assert loaded.class_names_ == ("x", "y", "z")
    changed = loaded.corrections(SAID)
    assert set(changed["to"]) <= {"x", "y", "z"}


def test_how_labels_come_out_comes_back(case, path):
    fitted, _ = case
    fitted.save(path)
    loaded = tl.load(path, trunk=fitted.trunk)
    if fitted.transition_matrix_ is None:
        assert loaded.transition_matrix_ is None
        assert loaded.class_shares_ is None
        return
    np.testing.assert_array_equal(loaded.transition_matrix_, fitted.transition_matrix_)
    np.testing.assert_array_equal(loaded.class_shares_, fitted.class_shares_)
    assert loaded.transition_matrix_.shape == (3, 3)


def test_the_default_recipe_does_say_how_labels_come_out(path):
    npc().fit(ONE_VIEW).save(path)
    loaded = tl.load(path)
    np.testing.assert_allclose(loaded.transition_matrix_.sum(axis=1), 1)
    np.testing.assert_allclose(loaded.class_shares_, np.bincount(LABELS) / 120, atol=0.2)


def test_a_file_written_before_that_was_saved_is_read(saved):
    with safe_open(saved, "pt") as file:
        config = json.loads(file.metadata()["config"])
    kept = {name: value for name, value in config.items() if name not in ("transition_matrix", "class_shares")}
    rewrite(saved, config=json.dumps(kept))
    loaded = tl.load(saved)
    assert loaded.transition_matrix_ is None
    assert loaded.class_shares_ is None


def test_the_weight_of_the_prior_is_kept(path):
    """ρ is no tensor: Σ(α̂ − 1) of a network that was never told anything about ŷ is ρ."""
    fitted = npc(rho=2.5, learning_rate=1e-30).fit(ONE_VIEW)
    fitted.save(path)
    found = tl.load(path).posterior(ONE_VIEW).concentration
    np.testing.assert_allclose((found - 1).sum(axis=1), 2.5, rtol=1e-4)


def test_a_loaded_calibrator_checks_what_it_is_asked(saved):
    loaded = tl.load(saved)
    with pytest.raises(ValueError, match="hidden has 5 columns, but the calibrator was fitted on 4"):
        loaded.calibrate(SAID.replace(hidden=X))
    with pytest.raises(ValueError, match="probs has 2 classes, but the calibrator was fitted on 3"):
        loaded.calibrate(tl.Predictions(np.full((120, 2), 0.5), hidden=X[:, 1:]))


def test_an_unfitted_calibrator_is_not_saved(path):
    with pytest.raises(NotFittedError, match="this NPC is not fitted yet; call fit first"):
        tl.NPC().save(path)
    assert not path.exists()


def test_a_trunk_is_passed_to_load(path):
    npc("paper", trunk=network()).fit(SAID).save(path)
    with pytest.raises(FileFormatError, match=r"fitted with a trunk network; pass load\(path, trunk=network\)"):
        tl.load(path)
    other = nn.Sequential(nn.Flatten(), nn.Linear(36, 3))
    with pytest.raises(FileFormatError, match="does not fit: the trunk is another network"):
        tl.load(path, trunk=other)
    passed = network()
    before = passed.head.weight.clone()
    assert tl.load(path, trunk=passed).trunk is passed
    assert torch.equal(passed.head.weight, before)


def test_a_file_is_written_whole_or_not_at_all(fitted, saved, monkeypatch):
    before = saved.read_bytes()

    write = Path.write_bytes

    def fail(target, content):
        write(target, content[: len(content) // 2])
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OSError, match="no space left"):
        fitted.save(saved)
    assert saved.read_bytes() == before
    assert [file.name for file in saved.parent.iterdir()] == ["npc.safetensors"]


def test_nothing_is_left_behind_where_the_target_is_a_folder(fitted, path):
    path.mkdir()
    (path / "something").touch()
    with pytest.raises(OSError, match=r"npc\.safetensors"):
        fitted.save(path)
    assert [file.name for file in path.parent.iterdir()] == ["npc.safetensors"]


def test_a_missing_file_is_named(path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*npc\.safetensors"):
        tl.load(path)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_file_cut_short_is_damaged(tmp_path_factory, fitted, data):
    path = tmp_path_factory.getbasetemp() / "cut.safetensors"
    fitted.save(path)
    content = path.read_bytes()
    path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(FileFormatError, match=r"cut\.safetensors is damaged, or not a safetensors file"):
        tl.load(path)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_changed_byte_is_noticed_or_does_no_harm(tmp_path_factory, fitted, data):
    path = tmp_path_factory.getbasetemp() / "changed.safetensors"
    fitted.save(path)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    try:
        loaded = tl.load(path)
    except FileFormatError:
        return
    np.testing.assert_array_equal(loaded.calibrate(SAID), fitted.calibrate(SAID))


def test_a_changed_weight_is_damage(saved):
    content = bytearray(saved.read_bytes())
    content[-3] ^= 1
    saved.write_bytes(content)
    with pytest.raises(FileFormatError, match="is damaged: its contents do not match its checksum"):
        tl.load(saved)


@pytest.mark.parametrize("content", [b"", b"hello", bytes(RNG.bytes(4096)), b"\xff" * 100])
def test_what_is_no_safetensors_file_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="is damaged, or not a safetensors file"):
        tl.load(path)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_a_safetensors_file_of_others_is_not_ours(path, metadata):
    save_file({"weight": torch.ones(2)}, path, metadata=metadata)
    with pytest.raises(FileFormatError, match="is a safetensors file, but not one that truelabel wrote"):
        tl.load(path)


def test_a_newer_format_asks_for_an_upgrade(saved):
    rewrite(saved, version="2", written_by="9.9.9")
    with pytest.raises(FileFormatError, match=r"written by truelabel 9\.9\.9, in a format newer .*; upgrade truelabel"):
        tl.load(saved)


@pytest.mark.parametrize("version", [None, "", "one", "-1", "1.0"])
def test_a_version_that_is_no_number_is_damage(saved, version):
    rewrite(saved, version=version)
    with pytest.raises(FileFormatError, match="is damaged: it does not name its version"):
        tl.load(saved)


def test_loading_runs_no_code(path, tmp_path):
    class Harm:
        def __reduce__(self):
            return (tmp_path / "harm").touch, ()

    path.write_bytes(pickle.dumps(Harm()))
    with pytest.raises(FileFormatError, match="not a safetensors file"):
        tl.load(path)
    torch.save({"weight": Harm()}, path)
    with pytest.raises(FileFormatError, match="not a safetensors file"):
        tl.load(path)
    assert not (tmp_path / "harm").exists()


ODD = {
    "no JSON": "__import__('os').system('true')",
    "endless nesting": "[" * 100_000,
    "a list": "[1, 2]",
    "a number": "5",
    "empty": "{}",
    "unknown parameter": {"parameters": {"__class__": "os.system"}},
    "parameters in a list": {"parameters": ["paper"]},
    "link": {"link": "os.system"},
    "reads what is not there": {"reads": ["secret"]},
    "reads a number": {"reads": 5},
    "classes in words": {"n_classes": "three"},
    "other number of classes": {"n_classes": 4},
    "negative width": {"width": -7},
    "hidden in words": {"hidden": "many"},
    "hidden too large": {"hidden": [10**12]},
    "unknown finding": {"report": {"verdict": "fine"}},
    "class shares in a mapping": {"class_shares": {"x": 1.0}},
}
NOT_CAUGHT = {
    "transition in words": {"transition_matrix": "identity"},
    "ragged transition": {"transition_matrix": [[1.0], [0.5, 0.5]]},
    "weight of zero": {"parameters": {"rho": 0}},
}


@pytest.mark.parametrize("config", ODD.values(), ids=ODD)
def test_odd_configurations_are_refused(saved, config):
    rewrite(saved, config=config)
    with pytest.raises(FileFormatError, match=r"npc\.safetensors (is damaged|does not fit)"):
        tl.load(saved)


@pytest.mark.parametrize("config", NOT_CAUGHT.values(), ids=NOT_CAUGHT)
def test_odd_numbers_are_refused(saved, config):
    rewrite(saved, config=config)
    with pytest.raises(FileFormatError):
        tl.load(saved)


def test_a_missing_tensor_is_damage(saved):
    with safe_open(saved, "pt") as file:
        header = file.metadata()
    tensors = load_file(saved)
    del tensors["encoder.bias"]
    header["checksum"] = files._checksum(header["config"], tensors)
    save_file(tensors, saved, metadata=header)
    with pytest.raises(FileFormatError, match="does not fit: the file is damaged"):
        tl.load(saved)


def test_claims_are_compared_with_the_tensors_before_anything_is_built(fitted, saved, monkeypatch):
    """A small file that claims 30,000 classes used to take seven gigabytes before it was refused."""
    from truelabel.calibrators.npc import model

    def built(*given, **options):
        raise AssertionError("something was built by what the file claims")

    for name, value in (("n_classes", 30_000), ("width", 10_000_000), ("hidden", [100_000, 100_000])):
        rewritten(saved, lambda config, tensors, name=name, value=value: config.update({name: value}))
        with monkeypatch.context() as patched:
            patched.setattr(model.DirichletVAE, "__init__", built)
            with pytest.raises(FileFormatError, match=r"the file is damaged|is damaged"):
                tl.load(saved)
        fitted.save(saved)


@pytest.mark.parametrize("unit", [[[2.0, 0, 0, 0, 0]], [[0.0] * 5], [[1.0] * 5, [1.0] * 5], [[1.0] * 4]])
def test_columns_of_a_view_that_overlap_or_are_none_are_damage(unit, path):
    rows = ONE_VIEW.replace(features={"a": X})
    npc(prior=UnitRows()).fit(rows).save(path)
    rewritten(path, lambda config, tensors: tensors.update({"trunk.0.unit": torch.tensor(unit)}))
    with pytest.raises(FileFormatError, match="damaged"):
        tl.load(path)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused(fitted, saved, value):
    rewritten(saved, lambda config, tensors: tensors["encoder.weight"].fill_(value))
    with pytest.raises(FileFormatError, match=r"encoder\.weight holds numbers that are not finite"):
        tl.load(saved)


def rewritten(path, change):
    """Change configuration and tensors of a file, with a checksum that fits."""
    with safe_open(path, framework="pt") as file:
        header = dict(file.metadata())
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    config = json.loads(header["config"])
    change(config, tensors)
    header["config"] = json.dumps(config)
    header["checksum"] = files._checksum(header["config"], tensors)
    save_file(tensors, path, header)
