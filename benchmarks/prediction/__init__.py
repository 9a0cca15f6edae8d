"""How well real tables are predicted, and with how many columns."""
