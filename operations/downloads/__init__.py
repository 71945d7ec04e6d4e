"""Fetching, checking and keeping published files."""
