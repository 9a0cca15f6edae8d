"""Sparse gradient learning: gradients of a function from pairs of rows, most of them zero."""
