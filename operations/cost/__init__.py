"""Cost of a cluster, by dated price tables."""
