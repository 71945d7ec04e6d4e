"""The exception of what a rule of the portal refuses."""


class NotPossible(Exception):
    """An action that is refused; the text says why and what to do."""
