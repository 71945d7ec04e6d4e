"""`mullion upgrade --check`: what in the running cluster would stop an upgrade or break with it."""
