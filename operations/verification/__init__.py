"""`mullion verify`: checks whether a cluster with Windows nodes works. Docs: docs/verify.md.

It uses only the cluster's API: pods on each kind of node send the test requests and write the results to their logs. It
needs a kubeconfig, but no shell on a node and no program on this host.
"""
