"""Which columns matter: propose, price, check."""
