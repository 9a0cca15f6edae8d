"""Tables: rows in canonical order, read from files, encoded."""
