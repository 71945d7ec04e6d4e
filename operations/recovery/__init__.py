"""Recovery from interrupted runs."""
