"""The figures as Markdown."""

import re


def number(value, spread=None):
    if value is None:
        return ""
    text = f"{value:,.0f}" if value >= 100 else f"{value:.2f}" if value < 10 else f"{value:.1f}"
    return text if spread is None else f"{text} ±{spread * 50:.0f} %"


def head(told):
    versions = told["versions"]
    redis = re.search(r"v=([\d.]+)", versions["redis"] or "v=?")
    return (f"{versions['machine']}; redis-server {redis[1] if redis else '?'}, Ratel {versions['ratel']}, redis_rate {versions['redis_rate']} with go-redis "
            f"{versions['go-redis']}, rate-limiter-flexible {versions['rate-limiter-flexible']} with ioredis {versions['ioredis']}; load average when it "
            f"began: {versions['load_average_at_start']:.1f}; {told['rounds']} rounds, medians ± half the distance of lowest and highest.")


def times(told):
    lines = [head(told)]
    for load in told["loads"].values():
        lines += ["", load["what"].capitalize() + ":", "",
                  "| | decisions/s | per second of the server's CPU | client CPU, us | p50, us | p99, us | script calls a decision | bytes a key | MEMORY USAGE |",
                  "|---|---|---|---|---|---|---|---|---|"]
        for name, row in load["rows"].items():
            cells = [number(row["decisions_per_second"], row["decisions_per_second_spread"]),
                     number(row["decisions_per_server_second"], row["decisions_per_server_second_spread"]),
                     *(number(row[one]) for one in ("client_cpu_us", "p50_us", "p99_us", "server_calls_per_decision", "bytes_per_key", "memory_usage"))]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def instructions(told):
    names = list(dict.fromkeys(name for load in told["loads"].values() for name in load["rows"]))
    lines = [head(told).split("; load average")[0] + ".", "", "| instructions of the server a decision | " + " | ".join(told["loads"]) + " |", "|---" * (len(told["loads"]) + 1) + "|"]
    for name in names:
        cells = [number(load["rows"].get(name, {}).get("server_instructions")) for load in told["loads"].values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def put(path, name, text):
    """Between the marks of `name` in a file."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    old = path.read_text()
    before, _, rest = old.partition(begin)
    after = rest.partition(end)[2]
    if not rest:
        raise SystemExit(f"error: no {begin} in {path}")
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")
