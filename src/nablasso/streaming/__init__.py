"""Blocks of rows and sums over them: columns as codes of one byte, and passes that add up."""
