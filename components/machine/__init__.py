"""Data for one machine: bundle, user-data, facts, keys and certificates."""
