"""The client behind trusted proxies (semantics 8)."""

from script import Vector, rule, rules

PROXIES = ["10.0.0.0/8", "192.0.2.53", "2001:db8::/32"]


def walk():
    v = Vector("client-ip-walk", ["semantics 8", "B141"], "Walked from the right: the first address that is not trusted is the client.",
               rules(rule(), trusted_proxies=PROXIES))
    ask = v.client_ip
    ask("198.51.100.1", ["203.0.113.9"], want="198.51.100.1")
    ask("10.0.0.1", ["203.0.113.9"], want="203.0.113.9")
    ask("10.0.0.1", ["6.6.6.6, 203.0.113.9"], want="203.0.113.9")
    ask("10.0.0.1", ["6.6.6.6, 203.0.113.9, 10.2.3.4"], want="203.0.113.9")
    ask("10.0.0.1", ["6.6.6.6", "203.0.113.9, 10.2.3.4", "192.0.2.53"], want="203.0.113.9")
    ask("10.0.0.1", ["10.0.0.3, 10.0.0.2"], want="10.0.0.3")
    ask("10.0.0.1", [], want="10.0.0.1")
    ask("2001:db8::1", ["2001:DB9::1"], want="2001:db9::1")
    ask("[2001:db8::1]:443", ["[2001:db9:0:0:0:0:0:2]:80"], want="2001:db9::2")
    ask("::ffff:10.0.0.1", ["::ffff:203.0.113.9"], want="203.0.113.9")
    ask("192.0.2.53:55", ["203.0.113.9:1234"], want="203.0.113.9")
    ask("192.0.2.54", ["203.0.113.9"], want="192.0.2.54")
    return v


def not_an_address():
    v = Vector("client-ip-not-an-address", ["semantics 8", "B144"], "What is no address ends the walk: the client is the last hop that was.",
               rules(rule(), trusted_proxies=PROXIES))
    ask = v.client_ip
    ask("10.0.0.1", ["23189987"], want="10.0.0.1")
    ask("10.0.0.1", ["203.0.113.9, 23189987"], want="10.0.0.1")
    ask("10.0.0.1", ["unknown, 10.0.0.2"], want="10.0.0.2")
    ask("not an address", ["203.0.113.9"], want="")
    ask("", ["203.0.113.9"], want="")
    ask("198.51.100.1", ["garbage"], want="198.51.100.1")
    return v


def forwarded():
    v = Vector("client-ip-forwarded", ["semantics 8"], "Forwarded, when there is no X-Forwarded-For.",
               rules(rule(), trusted_proxies=PROXIES))
    ask = v.client_ip
    ask("10.0.0.1", [], ["for=203.0.113.9"], want="203.0.113.9")
    ask("10.0.0.1", [], ["for=203.0.113.9;proto=https;by=10.0.0.1"], want="203.0.113.9")
    ask("10.0.0.1", ["203.0.113.9"], ["for=6.6.6.6"], want="203.0.113.9")
    ask("10.0.0.1", [], ['For="[2001:db9::1]:4711"'], want="2001:db9::1")
    ask("10.0.0.1", [], ["for=6.6.6.6, for=203.0.113.9, for=10.1.1.1"], want="203.0.113.9")
    ask("10.0.0.1", [], ["for=203.0.113.9", "for=10.1.1.1"], want="203.0.113.9")
    ask("10.0.0.1", [], ['for="203.0.113.9:80"'], want="203.0.113.9")
    ask("10.0.0.1", [], ["for=_hidden, for=10.1.1.1"], want="10.1.1.1")
    ask("10.0.0.1", [], ["for=unknown"], want="10.0.0.1")
    ask("10.0.0.1", [], ["proto=https;for=203.0.113.9"], want="203.0.113.9")
    ask("198.51.100.1", [], ["for=203.0.113.9"], want="198.51.100.1")
    return v


def one_field(field):
    v = Vector(f"client-ip-from-{field.replace('_', '-')}", ["semantics 8", "B141"], "The field that the proxies write; the other one may be the client's invention.",
               rules(rule(), trusted_proxies=PROXIES, client_ip_from=field))
    want = {"x_forwarded_for": ("203.0.113.9", "203.0.113.9", "10.0.0.1"), "forwarded": ("203.0.113.10", "10.0.0.1", "203.0.113.10"),
            "any": ("203.0.113.9", "203.0.113.9", "203.0.113.10")}[field]
    for lines, expected in zip(((["203.0.113.9"], ["for=203.0.113.10"]), (["203.0.113.9"], []), ([], ["for=203.0.113.10"])), want):
        v.client_ip("10.0.0.1", *lines, want=expected)
    v.client_ip("198.51.100.1", ["203.0.113.9"], ["for=203.0.113.10"], want="198.51.100.1")
    return v


def nobody_is_trusted():
    v = Vector("client-ip-nobody-trusted", ["semantics 8"], "Without trusted_proxies the peer is the client, whatever headers say.",
               rules(rule()))
    for peer, want in (("10.0.0.1", "10.0.0.1"), ("[2001:DB8:0::1]:80", "2001:db8::1"), ("::1", "::1"), ("::", "::"),
                       ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("fe80::1%eth0", "fe80::1"), ("::ffff:192.0.2.1", "192.0.2.1"),
                       ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("1.2.3", ""), ("192.0.2.1:0", "192.0.2.1")):
        v.client_ip(peer, ["203.0.113.9"], ["for=203.0.113.10"], want=want)
    return v


def rotating():
    v = Vector("forged-left-most", ["B141"], "5 per min, 12 calls, each with a new left-most entry: five pass.",
               rules(rule(scope="ip", limit=5, window="1m"), trusted_proxies=PROXIES))
    for call in range(12):
        ip = v.client_ip("10.0.0.1", [f"198.51.100.{call}, 203.0.113.9"], want="203.0.113.9")
        v.allow(0, "A" if call < 5 else "D", ip=ip)
    return v


def vectors():
    return [walk(), not_an_address(), forwarded(), *map(one_field, ("any", "x_forwarded_for", "forwarded")), nobody_is_trusted(), rotating()]
