"""Runs the program against a recorder instead of an engine."""
