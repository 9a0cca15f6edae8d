"""The papers' figures and tables as functions that return rows, one file per paper."""
