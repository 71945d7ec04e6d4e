"""The Pulumi engine: locating or building it, running it, reading its events and state."""
