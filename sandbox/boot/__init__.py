"""Booting of a sandbox's machines for real, each from its own user-data, in one network with the cloud's services."""
