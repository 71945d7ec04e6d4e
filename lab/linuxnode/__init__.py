"""Disposable Linux machines in namespaces, without a VM: systemd as PID 1, cloud-init, a network per machine."""
