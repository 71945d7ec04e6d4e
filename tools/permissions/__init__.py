"""Policies to paste, and the page of permissions: made from the permissions that registered resources need."""
