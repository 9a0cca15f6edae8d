"""What a hundred thousand columns and a million rows cost."""
