"""Which rule covers a request: a linear scan, by definition (semantics 7)."""

import re

UNRESERVED = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def decode_once(path):
    def one(match):
        character = chr(int(match.group(1), 16))
        return character if character in UNRESERVED else "%" + match.group(1).upper()

    return re.sub(r"%([0-9A-Fa-f]{2})", one, path)


def normal_form(target):
    target = re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*", "", target)
    target = re.split(r"[?#]", target, maxsplit=1)[0]
    segments = [decode_once(segment.split(";", 1)[0]) for segment in target.split("/")]
    out = []
    for segment in segments:
        if segment == "..":
            out = out[:-1]
        elif segment not in ("", "."):
            out.append(segment)
    return "/" + "/".join(out) + ("/" if out and segments[-1] in ("", ".", "..") else "")


def segments_of(path):
    return [segment for segment in path.split("/") if segment]


def is_parameter(segment):
    return segment.startswith("{") and segment.endswith("}")


def path_covers(rule, path, ignore_case):
    pattern = rule.get("path")
    if pattern is None:
        return True
    if ignore_case:
        pattern, path = pattern.lower(), path.lower()
    how = rule.get("path_match", "prefix")
    if how == "literal":
        return path.startswith(pattern)
    want, have = segments_of(pattern), segments_of(path)
    if how == "exact" and (len(want) != len(have) or pattern.endswith("/") != path.endswith("/")):
        return False
    if len(have) < len(want):
        return False
    return all(is_parameter(w) or w == h for w, h in zip(want, have))


def methods_of(rule):
    method = rule.get("method", "*")
    methods = [method] if isinstance(method, str) else method
    return None if "*" in methods else methods


def conditions_hold(rule, request):
    facts = {attribute["name"]: attribute["value"] for attribute in request.get("attributes", [])}
    return all(facts.get(name) == value for name, value in rule.get("when", {}).items())


def covers(rule, request, path, ignore_case):
    methods = methods_of(rule)
    return (path_covers(rule, path, ignore_case)
            and (methods is None or request.get("method", "").upper() in methods)
            and conditions_hold(rule, request))


def specificity(rule):
    """Larger is more specific."""
    segments = segments_of(rule.get("path", ""))
    literal = tuple(0 if is_parameter(segment) else 1 for segment in segments)
    how = {"exact": 2, "prefix": 1, "literal": 0}[rule.get("path_match", "prefix")]
    return (len(segments), literal, how, methods_of(rule) is not None, len(rule.get("when", {})))


def matches(rules, request, ignore_case):
    """Every rule that covers the request, the most specific first."""
    path = normal_form(request.get("path", ""))
    found = [rule for rule in rules if covers(rule, request, path, ignore_case)]
    return sorted(found, key=specificity, reverse=True)
