"""Reading stack files: syntax, models and checks in one pass, all errors at once."""
