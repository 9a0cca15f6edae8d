"""Which contestant finds the right variables, from how many rows, and how well does it predict?"""
