"""Stack files, the target each stack is built in, and how the sandbox boots one."""
