"""The lab: real Kubernetes, containerd and CNI programs, built once from their Go modules, and machines to boot."""
