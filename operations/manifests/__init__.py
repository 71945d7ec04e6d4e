"""Reading Kubernetes manifests, and writing what the linter found."""
