"""Benchmarks: one folder per question. Speed and memory as ratios within one run."""
