"""What a planned cluster costs: price tables and the bill."""
