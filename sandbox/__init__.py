"""The embedded cloud: provider plugins that the real Pulumi engine loads, and the world they keep on disk."""
