"""Addresses, firewall rules, and which connections they must allow."""
