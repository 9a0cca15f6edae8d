"""Regression in closed form: the evidence of a Gaussian process, and paired tests."""
