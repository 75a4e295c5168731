"""Tests compute on one thread, in this process and in those that they start."""

import os

import faiss
import sklearn.neighbors  # noqa: F401
import torch
from threadpoolctl import threadpool_info


def test_no_library_has_more_than_one_thread() -> None:
    assert os.environ["OMP_NUM_THREADS"] == "1"  # what child processes go by
    assert torch.get_num_threads() == 1
    assert faiss.omp_get_max_threads() == 1
    pools = threadpool_info()
    assert pools
    assert {pool["num_threads"] for pool in pools} == {1}, pools
