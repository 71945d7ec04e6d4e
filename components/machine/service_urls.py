"""URLs of cloud services from the provider's outputs; https is required outside the sandbox."""

SANDBOX = "sandbox"
"""Target whose machines may be in a lab network, where services have no certificates."""


def service_url(fact: str, address: str, target: str) -> str:
    """Return the URL for an address from the provider's outputs: https for a host name; a whole URL stays unchanged.

    Raises ValueError if it is not https and the stack's target is a real cloud: a machine would send its identity, and
    get its secrets, in clear text.
    """
    url = address if "://" in address else f"https://{address}"
    if url.startswith("https://") or target == SANDBOX:
        return url
    raise ValueError(
        f"facts.{fact}: the provider gives {url}, which is not https; machines would send their identity and get their"
        " secrets in the clear. Remove such endpoints from the provider's settings (aws:endpoints), or build with"
        " --sandbox"
    )
