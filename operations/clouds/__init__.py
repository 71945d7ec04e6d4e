"""What differs between the clouds for commands."""
