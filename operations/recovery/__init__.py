"""Recovering from runs that were interrupted."""
