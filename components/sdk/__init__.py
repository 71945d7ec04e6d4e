"""Adjustments of Python and the Pulumi SDK for large clusters, and the cache folder."""
