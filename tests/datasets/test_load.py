import subprocess
import sys

import numpy as np
import pytest

from truelabel import datasets


def test_digits_are_there_without_any_file(tmp_path):
    data = datasets.load("digits", root=tmp_path, download=False)
    assert (len(data.train), len(data.test)) == (1198, 599)
    assert data.train.in_shape == (1, 8, 8)
    assert data.train.inputs.dtype == np.float32
    assert (data.train.inputs.min(), data.train.inputs.max()) == (0, 1)
    assert data.class_names == tuple("0123456789")
    assert np.bincount(data.test.labels).min() > 50


def test_the_split_of_digits_is_fixed_and_complete():
    from sklearn.datasets import load_digits

    one, two = datasets.load("digits", seed=0), datasets.load("digits", seed=1)
    assert np.array_equal(one.test.inputs, two.test.inputs)
    both = np.concatenate([one.train.inputs, one.test.inputs]).reshape(-1, 64) * 16
    assert np.array_equal(np.unique(both, axis=0), np.unique(load_digits().data, axis=0))


def test_a_subset_shrinks_the_training_set_only():
    data = datasets.load("digits", subset=100, seed=3)
    assert (len(data.train), len(data.test)) == (100, 599)
    assert np.bincount(data.train.labels).tolist() == pytest.approx([10] * 10, abs=1)
    again, other = (datasets.load("digits", subset=100, seed=seed) for seed in (3, 4))
    assert np.array_equal(data.train.inputs, again.train.inputs)
    assert not np.array_equal(data.train.inputs, other.train.inputs)


def test_the_test_set_can_be_cut_too():
    data = datasets.load("digits", subset=100, test_subset=50)
    assert (len(data.train), len(data.test)) == (100, 50)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="no dataset named 'imagenet'; choose one of digits, mnist"):
        datasets.load("imagenet")


def test_every_name_has_a_loader_and_a_line():
    from truelabel.datasets.registry import _LOADERS

    assert set(datasets.NAMES) == set(_LOADERS)
    assert all(datasets.NAMES.values())


def test_importing_datasets_is_light():
    code = (
        "import sys, truelabel.datasets; "
        "sys.exit(bool({'torch', 'sklearn', 'pandas', 'PIL', 'pooch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
