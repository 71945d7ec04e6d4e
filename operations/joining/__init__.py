"""Whether an existing Linux cluster is ready for Windows workers: what its API says, rules about it, patches."""
