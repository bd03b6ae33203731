"""Time and memory of the column and its gradient: `python -m benchmarks`, or `make bench`."""
