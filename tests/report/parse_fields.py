#!/usr/bin/env python3
"""parse_fields.py EMIT: every structured field that is emitted parses, and says the numbers that went in."""

import collections
import json
import subprocess
import sys

import http_sf

COUNT, SEED = 12000, 20241007
SECOND = 10**9
LARGEST = 999_999_999_999_999  # of a structured field's integers


def ceil_seconds(ns):
    return -(-ns // SECOND)


def split(headers):
    assert headers == "" or headers.endswith("\r\n")
    pairs = [line.split(": ", 1) for line in headers.split("\r\n")[:-1]]
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), names
    return dict(pairs)


def expected_t(case):
    cured = not case["allowed"] and case["cured"]
    return max(1, ceil_seconds(case["retry_after_ns"])) if cured else ceil_seconds(case["reset_after_ns"])


def policy_parameters(case, burst):
    parameters = {"w": max(1, ceil_seconds(case["window_ns"]))}
    if case["capacity"] != case["limit"]:
        parameters[burst] = min(case["capacity"], LARGEST)
    return parameters


def check_named(case, fields):
    quota = {"q": min(case["limit"], LARGEST), **policy_parameters(case, "ratel-burst")}
    policy = http_sf.parse(fields.pop("RateLimit-Policy").encode(), tltype="list")
    assert policy == [(case["name"], quota)], policy
    state = http_sf.parse(fields.pop("RateLimit").encode(), tltype="list")
    assert state == [(case["name"], {"r": min(case["remaining"], LARGEST), "t": expected_t(case)})], state


def check_old_policy(case, fields):
    policy = http_sf.parse(fields.pop("RateLimit-Policy").encode(), tltype="list")
    assert policy == [(min(case["limit"], LARGEST), policy_parameters(case, "burst"))], policy


def numbers_of(case):
    return {"limit": min(case["capacity"], LARGEST), "remaining": min(case["remaining"], LARGEST),
            "reset": expected_t(case)}


def check_draft_7(case, fields):
    check_old_policy(case, fields)
    state = http_sf.parse(fields.pop("RateLimit").encode(), tltype="dictionary")
    assert state == {key: (value, {}) for key, value in numbers_of(case).items()}, state


def check_draft_6(case, fields):
    check_old_policy(case, fields)
    for key, value in numbers_of(case).items():
        item = http_sf.parse(fields.pop(f"RateLimit-{key.capitalize()}").encode(), tltype="item")
        assert item == (value, {}), item


def check_x(case, fields):
    reset = ceil_seconds(case["reset_after_ns"])
    if case["form"] == "x":
        reset = ceil_seconds(case["now_ns"] // 1000 * 1000 + case["reset_after_ns"])
    assert fields.pop("X-RateLimit-Limit") == str(case["capacity"])
    assert fields.pop("X-RateLimit-Remaining") == str(case["remaining"])
    assert fields.pop("X-RateLimit-Reset") == str(reset)


def check_retry_after(case, fields):
    retry_after = fields.pop("Retry-After", None)
    if case["allowed"] or not case["cured"]:
        assert retry_after is None, retry_after
    else:
        assert retry_after == str(max(1, ceil_seconds(case["retry_after_ns"]))), retry_after


CHECKS = {"x": check_x, "x_delta": check_x, "draft_6": check_draft_6, "draft_7": check_draft_7,
          "draft_8": check_named, "draft_11": check_named}


def main():
    emitted = subprocess.run([sys.argv[1], "fields", str(COUNT), str(SEED)], check=True, capture_output=True, text=True)
    seen = collections.Counter()
    for line in emitted.stdout.splitlines():
        case = json.loads(line)
        fields = split(case["headers"])
        seen[case["form"]] += len(fields)
        CHECKS[case["form"]](case, fields)
        check_retry_after(case, fields)
        assert not fields, fields
    assert set(seen) == set(CHECKS), seen
    print(f"{sum(seen.values())} fields of {COUNT} decisions parsed (seed {SEED})")


if __name__ == "__main__":
    main()
