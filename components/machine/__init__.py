"""What one machine gets: its bundle, user-data, facts and keys."""
