"""What a cluster costs, by dated price tables."""
