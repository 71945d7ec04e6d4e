"""A cluster on AWS: `cluster.build` registers the planned resources. Importing this package imports no SDK."""
