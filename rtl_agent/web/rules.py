"""Whom a server answers: loopback or not, under which names, and with which key."""

import hmac
import ipaddress


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def own_names(host: str, port: int) -> set[str]:
    """What the Host header of a request to a loopback server may say. Another name there is a foreign page whose own
    name was made to lead here (DNS rebinding)."""
    names = {"localhost", "127.0.0.1", "[::1]", host, f"[{host}]"}
    return {f"{name}:{port}" for name in names}


def same_key(given: str, key: str) -> bool:
    """In a time that tells nothing of where they differ."""
    return hmac.compare_digest(given.encode(errors="surrogatepass"), key.encode())


def url_of(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
