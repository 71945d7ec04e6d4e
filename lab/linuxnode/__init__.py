"""Throw-away Linux machines at native speed: systemd as PID 1, real cloud-init, a network of their own, no VM."""
