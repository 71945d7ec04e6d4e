"""The embedded cloud: provider plugins that the real Pulumi engine loads, and their cloud state on disk."""
