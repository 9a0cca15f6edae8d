"""Pages and figures made from stored rows; nothing is measured here."""
