"""Text of the golden files of node plans and configuration documents; tests compare it, tools/generate.py writes it."""
