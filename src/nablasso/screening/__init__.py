"""Which columns of a wide table are worth a search: held-out scores, alone and in pairs."""
