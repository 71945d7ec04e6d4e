"""URLs of cloud services from the provider's outputs; https is required outside the sandbox."""

SANDBOX = "sandbox"
"""The world whose machines may stand in a lab network, where services have no certificates."""


def service_url(fact: str, address: str, target: str) -> str:
    """The URL at an address that the provider gives: a host name, which means https, or a whole URL, used as it is.

    ValueError where that is not https and the stack's recorded world is a real cloud: a machine would send its
    identity, and get its secrets, in the clear.
    """
    url = address if "://" in address else f"https://{address}"
    if url.startswith("https://") or target == SANDBOX:
        return url
    raise ValueError(
        f"facts.{fact}: the provider gives {url}, which is not https; machines would send their identity and get their"
        " secrets in the clear. Remove such endpoints from the provider's settings (aws:endpoints), or build with"
        " --sandbox"
    )
