"""The APIs that booted machines talk to, over HTTP: instance metadata, S3, Secrets Manager, EC2.

They answer from the sandbox's world, take the identity of a call from the instance whose credentials sign it, and
check every call against the policies of that instance's role and of the bucket.
"""
