"""The HTML report of a stack: what it shows, as plain values, and the template that shows it."""
