"""What every command prints, and the exit code it ends with."""
