"""Addresses of servers in users' configuration."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def in_clear(urls: str) -> bool:
    """Return whether one of the URLs, separated by commas, is http and not of the loopback interface."""
    parts = [each.strip() for each in urls.split(",")]
    return any(urlsplit(part).scheme == "http" and not is_loopback_url(part) for part in parts)


def is_loopback_url(url: str) -> bool:
    """Return whether a URL names this machine itself."""
    return is_loopback(urlsplit(url).hostname or "")


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine itself: localhost, or an address of 127.0.0.0/8 or ::1."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # another name, such as 127.example.com
        return False
