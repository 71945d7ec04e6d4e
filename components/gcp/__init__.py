"""A cluster on GCP: `cluster.build` registers the planned resources. Importing this package imports no SDK."""
