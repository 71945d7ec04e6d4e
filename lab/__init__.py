"""The lab's programs: real Kubernetes, containerd and CNI programs, built once from their Go modules."""
