"""The control-plane agent: keeps what a running cluster needs beyond its machines' plans.

Runs on every control-plane machine, from the bundle, beside the executor whose code it uses. Each concern is a module
with a function that decides, from what was seen alone, and one that looks and acts. Standard library of Python 3.10.
"""
