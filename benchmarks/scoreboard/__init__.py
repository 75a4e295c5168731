"""The scoreboard of `benchmarks/accuracy.py`: its cells, its columns, what is measured, and the summary."""
