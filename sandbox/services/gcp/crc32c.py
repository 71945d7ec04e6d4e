"""CRC-32C (Castagnoli), the checksum of Google's stores (RFC 3720, appendix B.4)."""

_POLYNOMIAL = 0x82F63B78


def _row(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = tuple(map(_row, range(256)))


def crc32c(content: bytes) -> int:
    """Return the checksum."""
    found = 0xFFFFFFFF
    for byte in content:
        found = found >> 8 ^ _TABLE[(found ^ byte) & 0xFF]
    return found ^ 0xFFFFFFFF
