"""Internal failures of ARM, and how long pulumi-azure-native retries them."""

from sandbox.failures import Failures, Retried

FAILURES = Failures(
    internal=("InternalServerError", "An error occurred."),
    # Azure SDK for Go, policy.RetryOptions: three retries from 0.8 s on, and Retry-After if ARM sends it (429)
    throttle=Retried(
        "TooManyRequests",
        "The request is being throttled as the limit has been reached for operation type.",
        *(0.8, 60, 3, 180),
    ),
    # a new identity reaches directory replicas after a delay: RBAC, "Troubleshoot Azure RBAC"
    unseen=Retried(
        "PrincipalNotFound",
        "Principal does not exist in the directory. Check that you have the correct principal ID. If you are creating"
        " this"
        " principal and then immediately assigning a role, this error might be related to a replication delay.",
        *(0.8, 60, 3, 180),
    ),
    unseen_by="RoleAssignment",
)
