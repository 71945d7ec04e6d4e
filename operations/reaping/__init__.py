"""Removal of clusters by the tags of their resources, where no state exists."""
