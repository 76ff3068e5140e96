"""Whose budget it is (semantics 8), and overrides."""

from script import Vector, rule, rules

V4 = "192.0.2.1"


def falls_back_to_the_address():
    v = Vector("key-fallback", ["semantics 8"], "No user or no API key: the client's address instead; never one shared anonymous bucket.",
               rules(rule("users", limit=1, window="1m", path="/users"),
                     rule("keys", scope="api_key", limit=1, window="1m", path="/keys"),
                     rule("tenants", scope="attribute:tenant", limit=1, window="1m", path="/tenants")))
    for path in ("/users", "/keys", "/tenants"):
        v.allow(0, "A", path=path, ip=V4)
        v.allow(0, "D", path=path, ip=V4)
        v.allow(0, "A", path=path, ip="192.0.2.2")
    v.allow(0, "A", path="/users", ip=V4, user="u")
    v.allow(0, "A", path="/keys", ip=V4, api_key="k")
    v.allow(0, "A", path="/tenants", ip=V4, attributes=[{"name": "tenant", "value": "t"}])
    v.allow(0, "D", path="/tenants", ip="192.0.2.3", attributes=[{"name": "tenant", "value": "t"}])
    v.allow(0, "D", path="/tenants", ip=V4, attributes=[{"name": "tenant", "value": ""}])
    v.allow(0, "D", path="/tenants", ip=V4, attributes=[{"name": "other", "value": "t"}])
    return v


def user_is_no_address():
    v = Vector("user-named-as-an-address", ["semantics 8", "B123"], "User 127.0.0.1 and an anonymous peer 127.0.0.1 do not meet.",
               rules(rule(limit=1, window="1m")))
    v.allow(0, "A", user="127.0.0.1", ip="198.51.100.1")
    v.allow(0, "A", ip="127.0.0.1")
    v.allow(0, "D", user="127.0.0.1")
    v.allow(0, "D", ip="127.0.0.1")
    v.allow(0, "A", user="unknown")
    v.allow(0, "A")
    return v


def unknown_clients():
    v = Vector("unknown-clients", ["semantics 8", "B144"], "No usable address: the rule's shared bucket.",
               rules(rule(scope="ip", limit=2, window="1m")))
    v.allow(0, {"remaining": 1}, ip="")
    v.allow(0, {"remaining": 0}, ip="23189987")
    for bad in ("unknown", "localhost", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "0x7f000001", "::g", "1::2::3", "/tmp/socket"):
        v.allow(0, {"allowed": False, "remaining": 0}, ip=bad)
    v.allow(0, {"remaining": 1}, ip=V4)
    v.metrics(0, ["r"], {"requests": 13, "unknown_client": 12})
    return v


def parts_do_not_meet():
    v = Vector("composite-parts-do-not-meet", ["semantics 8"], "a|b with c and a with b|c are two keys, and so are parts that swap places.",
               rules(rule(scope=["user", "api_key"], limit=1, window="1m")))
    pairs = [("a|b", "c"), ("a", "b|c"), ("a|b|c", ""), ("ab", "c"), ("a", "bc"), ("c", "a|b"), ("user=a", "b"), ("a,b", "c"),
             ("a", "b,c"), ("1:a", "b"), ("a\u0000b", "c"), ("a", "\u0000bc")]
    for user, api_key in pairs:
        v.allow(0, "A", user=user, api_key=api_key, ip=V4)
    for user, api_key in pairs:
        v.allow(0, "D", user=user, api_key=api_key, ip=V4)
    return v


def texts_of_many_do_not_touch():
    v = Vector("texts-of-many-requests-do-not-touch", ["semantics 8"],
               "Requests of one call lie side by side in a binding's memory: each keeps its own texts, whatever those beside it are made of.",
               rules(rule(limit=1, window="1m")))
    odd = ["\u00e9", "\u00fc" * 49, "x" * 48 + "\u00e9", "\u65e5\u672c", "y" * 129, "\u0000c", "\U0001f98a", "z" * 300 + "\u00df"]
    plain = ["a", "bb", "x" * 49, "1", "y" * 128, "c", "d" * 48, "z" * 300]
    users = [user for pair in zip(plain, odd) for user in pair]
    requests = [{"user": user, "ip": V4, "api_key": "k\u00e9y"[i % 3:]} if user in odd else {"user": user} for i, user in enumerate(users)]
    v.many(0, requests, "A" * len(users))
    v.many(0, requests[::-1], "D" * len(users))
    for user in users:
        v.allow(0, "D", user=user)
    v.many(0, [{"user": user[:-1] + "w", "ip": V4} for user in ("a", "x" * 49, "y" * 128)], "AAA")
    return v


def one_address_one_bucket():
    v = Vector("address-forms", ["semantics 8", "B138"], "One address in any form is one key.",
               rules(rule(scope="ip", limit=1, window="1m")))
    groups = [
        ["192.0.2.1", "192.0.2.1:80", "::ffff:192.0.2.1", "::FFFF:c000:201", "[::ffff:192.0.2.1]:443", "0:0:0:0:0:ffff:c000:0201"],
        ["2001:db8::1", "2001:DB8:0:0:0:0:0:1", "[2001:db8::1]:443", "2001:db8::1%eth0", "2001:db8:0:0:ffff:ffff:ffff:ffff",
         "[2001:db8::1]", "2001:db8::192.0.2.1"],
        ["2001:db8:0:1::1"],
        ["198.51.100.7"],
    ]
    for group in groups:
        v.allow(0, "A", ip=group[0])
        for other in group[1:]:
            v.allow(0, "D", ip=other)
    return v


def mapped_clients():
    v = Vector("mapped-addresses", ["semantics 8", "B135"], "IPv4-mapped clients do not share a bucket, whatever the IPv6 prefix.",
               rules(rule(scope="ip", limit=1, window="1m"), ipv6_prefix=56))
    v.allow(0, "A", ip="::ffff:192.0.2.1")
    v.allow(0, "A", ip="::ffff:198.51.100.7")
    v.allow(0, "D", ip="192.0.2.1")
    v.allow(0, "A", ip="2001:db8:0:1::1")
    v.allow(0, "D", ip="2001:db8:0:ff::1")
    v.allow(0, "A", ip="2001:db8:0:100::1")
    return v


def whole_ipv6():
    v = Vector("ipv6-prefix-128", ["semantics 8"], "With a prefix of 128 every IPv6 address is a client of its own.",
               rules(rule(scope="ip", limit=1, window="1m"), ipv6_prefix=128))
    v.allow(0, "A", ip="2001:db8::1")
    v.allow(0, "A", ip="2001:db8::2")
    v.allow(0, "D", ip="2001:db8:0::1")
    return v


def long_and_odd_keys():
    v = Vector("long-and-odd-keys", ["semantics 8", "B126", "B240"], "Keys are any bytes, any length: the last byte counts.",
               rules(rule(limit=1, window="1m"), rule("k", scope="api_key", limit=1, window="1m", path="/k")))
    long = {"repeat": "k", "times": 1_000_000}
    v.allow(0, "A", api_key=long, path="/k", ip=V4)
    v.allow(0, "D", api_key=long, path="/k", ip=V4)
    v.allow(0, "A", api_key={"repeat": "k", "times": 999_999}, path="/k", ip=V4)
    for odd in ({"hex": "00"}, {"hex": "0000"}, {"hex": "ff"}, {"hex": "c328"}, " ", "\u00fc", "u\u0308", {"repeat": "k", "times": 64},
                {"repeat": "k", "times": 65}):
        v.allow(0, "A", user=odd, path="/")
        v.allow(0, "D", user=odd, path="/")
    return v


def rules_do_not_share():
    v = Vector("rules-do-not-share", ["semantics 8", "B132", "B156"], "One counter for each rule and key: not for each path, and not across rules.",
               rules(rule("user", limit=2, window="1m", path="/user/{id}"), rule("order", limit=2, window="1m", path="/order")))
    v.allow(0, {"remaining": 1}, user="u", path="/user/1")
    v.allow(0, {"remaining": 0}, user="u", path="/user/2")
    v.allow(0, "D", user="u", path="/user/3")
    v.allow(0, {"remaining": 1}, user="u", path="/order")
    return v


def global_scope():
    v = Vector("global-scope", ["semantics 1"], "A global limit is one budget for all; a composite of user and address is one for each pair.",
               rules(rule("all", scope="global", limit=2, window="1m", path="/all"),
                     rule("pair", scope=["user", "ip"], limit=1, window="1m", path="/pair")))
    v.allow(0, "A", user="u", path="/all")
    v.allow(0, "A", ip=V4, path="/all")
    v.allow(0, "D", path="/all")
    for user, ip in (("u", V4), ("u", "192.0.2.2"), ("v", V4)):
        v.allow(0, "A", user=user, ip=ip, path="/pair")
        v.allow(0, "D", user=user, ip=ip, path="/pair")
    v.allow(0, "A", ip=V4, path="/pair")
    v.allow(0, "D", ip=V4, path="/pair")
    return v


def named_rule():
    v = Vector("named-rule-and-key", ["rl.h rl_request.key"], "A rule by its name; a key stands in for the value of the scope.",
               rules(rule("users", limit=2, window="1m", path="/users"),
                     rule("addresses", scope="ip", limit=1, window="1m", path="/addresses"),
                     rule("all", scope="global", limit=1, window="1m", path="/all"), default=rule("rest", scope="ip", limit=1)))
    v.allow(0, {"rule": "users", "remaining": 1}, rule="users", key="alice")
    v.allow(0, {"rule": "users", "remaining": 0}, path="/users", user="alice")
    v.allow(0, "D", rule="users", user="alice", path="/elsewhere")
    v.allow(0, "A", rule="users", key="bob", user="alice")
    v.allow(0, "A", rule="addresses", key="192.0.2.1")
    v.allow(0, "D", path="/addresses", ip="::ffff:192.0.2.1")
    v.allow(0, "A", rule="addresses", key="not an address")
    v.allow(0, "D", rule="addresses", key="not an address")
    v.allow(0, "A", rule="all", key="x")
    v.allow(0, "D", rule="all", key="y")
    v.allow(0, {"rule": "rest"}, rule="rest", key="192.0.2.9")
    return v


def overrides():
    v = Vector("overrides", ["semantics 7"], "Another limit for single key values; what an override leaves out comes from the limit.",
               rules(rule("users", limit=2, window="1m", path="/users",
                          overrides={"alice": {"limit": 4}, "bob": {"limit": 1, "window": "1s", "burst": 3}}),
                     rule("addresses", scope="ip", limit=1, window="1m", path="/addresses",
                          overrides={"192.0.2.7": {"limit": 3}, "2001:db8:0:7::": {"limit": 2}})))
    v.allow(0, {"limit": 4, "capacity": 4, "remaining": 3, "window_ns": "60000000000"}, user="alice", path="/users")
    v.allow(0, {"limit": 1, "capacity": 3, "remaining": 2, "window_ns": "1000000000"}, user="bob", path="/users")
    v.allow(0, {"limit": 2, "remaining": 1}, user="carol", path="/users")
    v.allow(0, {"limit": 2, "remaining": 1}, user="Alice", path="/users")
    v.allow(0, {"limit": 3, "remaining": 2}, ip="::ffff:192.0.2.7", path="/addresses")
    v.allow(0, {"limit": 2, "remaining": 1}, ip="2001:db8:0:7::1", path="/addresses")
    v.allow(0, {"limit": 1, "remaining": 0}, ip="192.0.2.8", path="/addresses")
    return v


def unlimited_and_block():
    v = Vector("actions", ["semantics 7"], "block denies without a limit, unlimited allows without one, and no rule is no limit.",
               rules({"name": "blocked", "path": "/admin", "action": "block"}, {"name": "free", "path": "/health", "action": "unlimited"},
                     rule("api", limit=1, window="1m", path="/api")))
    blocked = v.allow(0, {"allowed": False, "source": "action", "reason": "blocked", "rule": "blocked", "retry": "never",
                          "limit_count": 0, "capacity": 0}, user="u", path="/admin/users")
    free = v.allow(0, {"allowed": True, "source": "action", "rule": "free", "limit_count": 0}, user="u", path="/health")
    none = v.allow(0, {"allowed": True, "source": "no_rule", "rule": "", "limit_count": 0}, user="u", path="/other")
    for of in (blocked, free, none):
        v.headers(of, want=[])
    v.allow(0, "A", user="u", path="/api")
    v.metrics(0, ["blocked", "free", "api"], {"requests": 4, "allowed": 3, "denied": 1, "blocked": 1, "no_rule": 1})
    return v


def default_rule():
    v = Vector("default-rule", ["semantics 7"], "The default covers what no other rule does.",
               rules(rule("api", limit=5, window="1m", path="/api"), default=rule("rest", scope="ip", limit=1, window="1m")))
    v.allow(0, {"rule": "api"}, user="u", ip=V4, path="/api")
    v.allow(0, {"rule": "rest", "allowed": True}, user="u", ip=V4, path="/apix")
    v.allow(0, {"rule": "rest", "allowed": False}, user="v", ip=V4, path="/")
    return v


def vectors():
    return [falls_back_to_the_address(), user_is_no_address(), unknown_clients(), parts_do_not_meet(), texts_of_many_do_not_touch(),
            one_address_one_bucket(), mapped_clients(), whole_ipv6(), long_and_odd_keys(), rules_do_not_share(), global_scope(), named_rule(), overrides(),
            unlimited_and_block(), default_rule()]
