"""Header fields of a decision, from the texts of the drafts."""

NS = 1_000_000_000
LARGEST = 999_999_999_999_999
NEVER = 18446744073709551615


def seconds(ns):
    return -(-ns // NS)


def retry_after(d):
    if d["allowed"] or d["reason"] != "limited" or int(d["retry_after_ns"]) == NEVER:
        return None
    return max(1, seconds(int(d["retry_after_ns"])))


STATUS = {"limited": 429, "never_fits": 429, "blocked": 403, "store": 503}


def problem(d):
    """RFC 9457. A member of None is left out."""
    limited = bool(d["limit_name"])
    quota = "https://iana.org/assignments/http-problem-types#quota-exceeded"
    return {
        "type": quota if STATUS[d["reason"]] == 429 else "about:blank",
        "status": STATUS[d["reason"]],
        "reason": d["reason"],
        "rule": d["rule"] or None,
        "limit": d["limit_name"] or None,
        "violated-policies": [d["limit_name"]] if limited else None,
        "capacity": d["capacity"] if limited else None,
        "remaining": d["remaining"] if limited else None,
        "reset_after": seconds(int(d["reset_after_ns"])) if limited else None,
        "retry_after": retry_after(d),
    }


def fields(d, forms, now_ns):
    """Lines "Name: value", without their ends."""
    if not d["limit_name"] or "none" in forms:
        return []
    lines = []
    reset_ns = int(d["reset_after_ns"])
    wait = retry_after(d)
    t = wait if wait is not None else seconds(reset_ns)
    q, w, c, r = d["limit"], max(1, seconds(int(d["window_ns"]))), d["capacity"], d["remaining"]
    q, c_sf, r_sf = (min(x, LARGEST) for x in (q, c, r))
    name = d["limit_name"]
    if "x" in forms:
        lines.append(f"X-RateLimit-Limit: {c}")
        lines.append(f"X-RateLimit-Remaining: {r}")
        reset = seconds(reset_ns) if "reset_delta" in forms else seconds(now_ns // 1000 * 1000 + reset_ns)
        lines.append(f"X-RateLimit-Reset: {reset}")
    old = f"RateLimit-Policy: {q};w={w}" + (f";burst={c_sf}" if c != d["limit"] else "")
    if "draft_6" in forms:
        lines += [f"RateLimit-Limit: {c_sf}", f"RateLimit-Remaining: {r_sf}", f"RateLimit-Reset: {t}", old]
    if "draft_7" in forms:
        lines += [old, f"RateLimit: limit={c_sf}, remaining={r_sf}, reset={t}"]
    if "draft_8" in forms or "draft_11" in forms:
        burst = f";ratel-burst={c_sf}" if c != d["limit"] else ""
        lines += [f'RateLimit-Policy: "{name}";q={q};w={w}{burst}', f'RateLimit: "{name}";r={r_sf};t={t}']
    if "retry_after" in forms and wait is not None:
        lines.append(f"Retry-After: {wait}")
    return lines
