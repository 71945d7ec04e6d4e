"""`mullion chaos`: random changes, faults and cuts on a copy of a stack, and the invariants that must hold."""
