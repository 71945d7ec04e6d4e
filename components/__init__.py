"""What a cluster is. Imports nothing from operations/ or sandbox/."""
