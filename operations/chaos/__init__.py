"""`mullion chaos`: random changes, faults and interruptions of a copy of a stack, and invariants that must hold."""
