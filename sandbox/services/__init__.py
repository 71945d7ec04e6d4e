"""HTTP APIs that booted machines call: instance metadata, object stores, secret stores, compute.

The services answer from the cloud state. They take the caller's identity from the instance whose credentials sign the
call, and check every call against the policies of that instance's role and of the store.
"""
