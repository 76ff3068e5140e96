"""Whose budget: key values, addresses and the trusted-proxy walk (semantics 8)."""

import ipaddress
import re


def address(text):
    """An address as ipaddress has it, or None: ports stripped, zones dropped, mapped IPv6 taken as IPv4."""
    text = text.strip(" \t")
    if len(text) >= 2 and text[0] == '"' and text[-1] == '"':
        text = text[1:-1]
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::(\d{1,5}))?", text)
    with_port = re.fullmatch(r"(\d+\.\d+\.\d+\.\d+):(\d{1,5})", text)
    if bracketed:
        text = bracketed.group(1)
        if ":" not in text:
            return None
    elif with_port:
        text = with_port.group(1)
    port = (bracketed and bracketed.group(2)) or (with_port and with_port.group(2))
    if port and int(port) > 65535:
        return None
    if "%" in text:
        text, zone = text.split("%", 1)
        if not zone or ":" not in text:
            return None
    try:
        parsed = ipaddress.ip_address(text)
    except ValueError:
        return None
    if parsed.version == 6 and parsed.ipv4_mapped:
        return parsed.ipv4_mapped
    return parsed


def cut(parsed, prefix):
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, prefix), strict=False).network_address)


def client_part(request, prefix):
    """The address of the client as a key part, or the shared "unknown"."""
    parsed = address(request.get("ip", ""))
    return ("unknown",) if parsed is None else ("ip", cut(parsed, prefix))


def part_value(part, request, prefix):
    if part == "global":
        return ("global",)
    if part == "user" and request.get("user"):
        return ("user", request["user"])
    if part == "api_key" and request.get("api_key"):
        return ("api_key", request["api_key"])
    if part.startswith("attribute:"):
        name = part[len("attribute:"):]
        for attribute in request.get("attributes", []):
            if attribute["name"] == name and attribute["value"]:
                return (part, attribute["value"])
    return client_part(request, prefix)


def key_for(scope, request, prefix):
    """The value of a limit's key, and the text that overrides are looked up by."""
    if request.get("rule") and "key" in request:
        return key_given(scope, request["key"], prefix)
    parts = tuple(part_value(part, request, prefix) for part in scope)
    override = parts[0][1] if len(parts) == 1 and len(parts[0]) == 2 else None
    if override is not None and parts[0][0] == "ip" and scope[0] != "ip":
        override = None
    return parts, override


def key_given(scope, key, prefix):
    if scope == ["global"]:
        return (("global",),), None
    if len(scope) > 1:
        return ("given", key), None
    if scope == ["ip"]:
        parsed = address(key)
        value = key if parsed is None else cut(parsed, prefix)
        return (("ip", value),), value
    return ((scope[0], key),), key


def trusted(parsed, networks):
    return any(parsed.version == network.version and parsed in network for network in networks)


def forwarded_addresses(lines):
    """The for= of each element of RFC 7239, in order; None for an element that names no address."""
    found = []
    for element in ",".join(lines).split(","):
        value = None
        for pair in element.split(";"):
            name, _, rest = pair.strip(" \t").partition("=")
            if name.lower() == "for":
                value = address(rest)
        found.append(value)
    return found


def client_ip(peer, x_forwarded_for, forwarded, proxies, field):
    networks = [ipaddress.ip_network(proxy) for proxy in proxies]
    current = address(peer)
    if current is None:
        return ""
    standard = field == "forwarded" or (field == "any" and not x_forwarded_for)
    hops = forwarded_addresses(forwarded) if standard else [
        address(element) for line in x_forwarded_for for element in line.split(",")]
    while trusted(current, networks) and hops:
        before = hops.pop()
        if before is None:
            break
        current = before
    return str(current)
