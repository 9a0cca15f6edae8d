"""Which columns matter: one number in nats decides."""
