"""Changing a running cluster: gates, drains, upgrades, and the documents that machines follow."""
