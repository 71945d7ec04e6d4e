"""The control-plane agent: does what a running cluster needs beyond the plans of its machines.

Runs on every control-plane machine, from the bundle, and imports the executor's code. Each concern is a module with a
pure function that decides and a function that reads and acts. Standard library of Python 3.10.
"""
