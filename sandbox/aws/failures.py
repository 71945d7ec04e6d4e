"""Internal failures of AWS, and how long pulumi-aws retries them."""

from sandbox.failures import Failures, Retried

FAILURES = Failures(
    internal=("InternalFailure", "The request processing has failed because of an unknown error."),
    # pulumi-aws: maxRetries is 25; the provider's back-off doubles up to 300 s
    throttle=Retried("RequestLimitExceeded", "Request limit exceeded.", 1, 300, 25, float("inf")),
    # terraform-provider-aws: IAM propagation timeout of 2 minutes, waits of 0.5 s doubling up to 10 s
    unseen=Retried(
        "InvalidParameterValue",
        "Value for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
        *(0.5, 10, 1000, 120),
    ),
    unseen_by="Instance",
    # terraform-provider-aws 6 retries it as often as throttling: about 50 minutes (issues 43193 and 49863)
    capacity=Retried(
        "InsufficientInstanceCapacity",
        "We currently do not have sufficient capacity in the Availability Zone you requested.",
        *(1, 300, 25, float("inf")),
    ),
)
