"""Settings that every test shares."""

import torch

# Two threads that fight over busy cores are far slower than one, and one makes runs repeatable.
torch.set_num_threads(1)
