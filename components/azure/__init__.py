"""A cluster on Azure: `cluster.build` registers the planned resources. Importing this package imports no SDK."""
