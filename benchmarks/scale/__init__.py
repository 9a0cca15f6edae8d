"""What a million rows cost, and what the feature spaces lose."""
