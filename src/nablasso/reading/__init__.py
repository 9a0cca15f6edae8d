"""Reading a fitted function: what matters, what acts together, what could be otherwise."""
