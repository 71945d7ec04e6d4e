"""`mullion verify`: whether a cluster does what clusters with Windows are for. Docs: docs/verify.md.

By the cluster's API alone: from each place that matters a pod asks its questions once and writes the answers into its
log. So it needs a kubeconfig and nothing else: no shell on a node, no program on this host.
"""
