"""What the wiring of every cloud shares: context, stores, tags, launch data, kept secrets."""
