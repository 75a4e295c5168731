import subprocess
import sys

import pytest

import truelabel

HEAVY = ("torch", "faiss", "sklearn", "scipy", "pandas", "pyarrow", "matplotlib", "onnx", "rich")


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_truelabel_costs_next_to_nothing():
    code = f"""
import sys, time
began = time.process_time()
import truelabel
print(time.process_time() - began)
print(*[name for name in {HEAVY} if name in sys.modules])
"""
    seconds, loaded = run(code).split("\n")[:2]
    assert loaded == ""
    assert float(seconds) < 0.3


def test_predictions_need_numpy_alone():
    code = f"""
import sys, truelabel
truelabel.Predictions([[0.5, 0.5]], [[1.0]], labels=[0])
print(*[name for name in {HEAVY} if name in sys.modules])
"""
    assert run(code).strip() == ""


@pytest.mark.parametrize("name", truelabel.__all__)
def test_every_public_name_is_there(name):
    assert getattr(truelabel, name) is not None
    assert name in dir(truelabel)


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="module 'truelabel' has no attribute 'NCP'"):
        _ = truelabel.NCP
