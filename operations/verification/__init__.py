"""`mullion verify`: checks whether a cluster with Windows nodes works. Docs: docs/verify.md.

Uses the cluster's API alone: pods ask questions from each place that matters and write the answers to their logs. So
it needs a kubeconfig, and no shell on a node and no program on this host.
"""
