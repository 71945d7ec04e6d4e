"""Adjustments of the Pulumi SDK that large clusters need, and the cache folder."""
