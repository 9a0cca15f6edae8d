"""Benchmarks: suites of problems with one runner, and the library's own parts one folder each.

Speed and memory of the parts are ratios within one run.
"""
