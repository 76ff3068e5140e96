"""Which rule covers a request (semantics 7)."""

from script import Vector, rule, rules


def named(name, path=None, **more):
    """A rule that never runs out, so that only its name is told."""
    if path is not None:
        more["path"] = path
    return rule(name, limit=1000, window="1d", scope="global", **more)


def asks(v, pairs, method="GET"):
    for path, want in pairs:
        v.allow(0, {"rule": want} if want else {"source": "no_rule", "rule": ""}, method=method, path=path)
    return v


def segment_borders():
    v = Vector("segment-borders", ["semantics 7", "B147", "B150"], "/api covers /api, /api/ and /api/x, not /apix.",
               rules(named("api", "/api"), named("petstore", "/v1/petstore")))
    return asks(v, [("/api", "api"), ("/api/", "api"), ("/api/x", "api"), ("/api/x/y", "api"), ("/apix", None), ("/ap", None),
                    ("/", None), ("/API", None), ("/v1/petstore/something", "petstore"), ("/v1/petstores", None)])


def normal_form():
    v = Vector("normal-form", ["semantics 7", "B153", "B159"],
               "Query, parameters, dots, repeated slashes and unreserved escapes do not hide a path; %2F is no separator.",
               rules(named("x", "/api/x"), named("admin", "/admin"), named("tilde", "/~user")))
    return asks(v, [
        ("/api/x?y=2", "x"), ("/api/x;p=1", "x"), ("/api;v=1/x", "x"), ("/api/x;p=1?y=2", "x"), ("//api///x", "x"),
        ("/api/./x", "x"), ("/api/y/../x", "x"), ("/../api/x", "x"), ("/api/%78", "x"), ("/%61pi/x", "x"), ("/api/%2e/x", "x"),
        ("/api/y/%2E%2e/x", "x"), ("http://example.com/api/x", "x"), ("HTTPS://example.com:8443/api/x?z", "x"),
        ("http://example.com", None), ("/api%2Fx", None), ("/api%2fx", None), ("/admin%2F", None), ("/admin/%2F", "admin"),
        ("/admin%2Fnope", None), ("/admin/%2e%2e/api/x", "x"), ("/admin/..", None), ("/%7Euser", "tilde"), ("/%7euser/a", "tilde"),
        ("/api/%2578", None), ("/api/x%", None), ("/api/x%zz", None), ("/api/x/", "x"), ("", None), ("/", None), ("/.", None)])


def longest_path():
    v = Vector("longest-path-wins", ["semantics 7"], "The longest path wins, whatever the order in the file.",
               rules(named("root", "/"), named("c", "/a/b/c"), named("a", "/a"), named("b", "/a/b")))
    return asks(v, [("/a", "a"), ("/a/b", "b"), ("/a/b/c", "c"), ("/a/b/c/d", "c"), ("/a/x/c", "a"), ("/x", "root"), ("/", "root")])


def parameters():
    v = Vector("path-parameters", ["semantics 7", "B156"], "{name} stands for one segment; a literal one is more specific.",
               rules(named("user", "/users/{id}"), named("me", "/users/me"), named("orders", "/users/{id}/orders"),
                     named("users", "/users"), named("file", "/{org}/{repo}/file")))
    return asks(v, [("/users", "users"), ("/users/1", "user"), ("/users/me", "me"), ("/users/me/orders", "orders"),
                    ("/users/1/orders/2", "orders"), ("/users/1/x", "user"), ("/users/me/x", "me"), ("/a/b/file", "file"),
                    ("/a/b/x", None), ("/users/", "users")])


def methods():
    v = Vector("methods", ["semantics 7"], "An exact method beats any; the path comes before the method.",
               rules(named("any", "/a"), named("get", "/a", method="GET"), named("write", "/a", method=["POST", "PUT"]),
                     named("deep", "/a/b", method="*"), named("only", "/only", method="DELETE")))
    asks(v, [("/a", "get"), ("/a/x", "get"), ("/a/b", "deep"), ("/only", None)])
    asks(v, [("/a", "write"), ("/a/b", "deep")], "PUT")
    asks(v, [("/a", "write")], "POST")
    asks(v, [("/a", "any"), ("/only", "only")], "DELETE")
    return asks(v, [("/a", "get")], "get")


def conditions():
    v = Vector("conditions", ["semantics 7"], "More conditions are more specific, after path and method; one that fails hands on.",
               rules(named("plain", "/a"), named("pro", "/a", when={"plan": "pro"}),
                     named("pro-eu", "/a", when={"plan": "pro", "region": "eu"}),
                     named("get", "/a", method="GET"), named("deep", "/a/b")))
    tags = lambda **facts: [{"name": name, "value": value} for name, value in facts.items()]
    for method, facts, want in (("POST", {}, "plain"), ("POST", {"plan": "pro"}, "pro"), ("POST", {"plan": "free"}, "plain"),
                                ("POST", {"plan": "pro", "region": "eu"}, "pro-eu"), ("POST", {"region": "eu"}, "plain"),
                                ("POST", {"plan": "pro", "region": "us"}, "pro"), ("GET", {"plan": "pro"}, "get"),
                                ("POST", {"plan": "Pro"}, "plain")):
        v.allow(0, {"rule": want}, method=method, path="/a", attributes=tags(**facts))
    v.allow(0, {"rule": "deep"}, method="POST", path="/a/b", attributes=tags(plan="pro"))
    return v


def exact_and_literal():
    v = Vector("exact-and-literal", ["semantics 7"], "exact is the whole path, literal is plain starts-with.",
               rules(named("exact", "/a/b", path_match="exact"), named("prefix", "/a/b"),
                     named("literal", "/files/img-", path_match="literal")))
    return asks(v, [("/a/b", "exact"), ("/a/b/c", "prefix"), ("/files/img-1.png", "literal"), ("/files/img-", "literal"),
                    ("/files/img-2/x", "literal"), ("/files/img", None), ("/files/other", None)])


def ignore_case():
    v = Vector("ignore-case", ["semantics 7"], "Paths are case-sensitive unless the file says otherwise.",
               rules(named("api", "/Api/{id}/x"), ignore_case=True))
    return asks(v, [("/api/1/x", "api"), ("/API/1/X", "api"), ("/Api/1/x/y", "api"), ("/Api/1/y", None)])


def counted():
    v = Vector("no-rule-is-counted", ["semantics 7", "B114"], "No match and no default: allowed, no fields, counted.",
               rules(named("api", "/api")))
    none = v.allow(0, {"source": "no_rule"}, method="GET", path="/x")
    some = v.allow(0, {"rule": "api"}, method="GET", path="/api")
    v.headers(none, want=[])
    v.headers(some, want=["X-RateLimit-Limit: 1000", "X-RateLimit-Remaining: 999", "X-RateLimit-Reset: 1700006487"])
    v.metrics(0, ["api"], {"requests": 2, "allowed": 2, "no_rule": 1})
    return v


def vectors():
    return [segment_borders(), normal_form(), longest_path(), parameters(), methods(), conditions(), exact_and_literal(),
            ignore_case(), counted()]
