"""The figures as Markdown."""

import pathlib
import sys

from figures import Figures, median_and_spread

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "redis"))
from table import number  # noqa: E402

SHAPES = {"1000": "1k", "20000": "20k", "1000000": "1M", "10000000": "10M"}


def head(told):
    versions = told["versions"]
    busy = "" if versions["load_average_at_start"] < 1 else " **The machine was at other work: spreads are wide, and ratios of two threads say little.**"
    return (f"{versions['date']}, {versions['machine']}, huge pages: {versions['huge_pages']}; Ratel {versions['ratel']} ({versions.get('commit', 'before it told its commit')}), GCC {versions['compiler']}, "
            f"Boost {versions['boost'] or 'absent'}; load average when it began: {versions['load_average_at_start']:.1f}; {told['rounds']} rounds in turn, "
            f"medians ± half the distance of lowest and highest (the lowest). One thread: processor time; two: wall time.{busy}")


def cell(values):
    if not values:
        return ""
    median, spread = median_and_spread(values)
    return f"{number(median)} ±{100 * spread:.0f} % ({number(min(values))})"


def named(shape):
    keys, _, order = shape.partition(" ")
    return f"{SHAPES.get(keys, keys)} {order}".strip()


def grid(figures, section, columns, title):
    """A row for each name, a column for each (heading, shape, mode, threads)."""
    lines = [f"| {title} | " + " | ".join(heading for heading, *_ in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name in figures.names(section):
        cells = [cell(figures.ns(section, name, *where)) for _, *where in columns]
        if any(cells):
            lines.append(f"| {name.replace('rl_', '`rl_', 1) + '`' if name.startswith('rl_') and ',' not in name else name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def of_keys(figures):
    parts = []
    for mode, threads, said in (("isolated", 1, "one at a time, a fence before and after"), ("back to back", 1, "back to back, 1 thread"),
                                ("back to back", 2, "back to back, 2 threads"), ("batch of 32", 1, "in batches of 32, 1 thread"),
                                ("batch of 32", 2, "in batches of 32, 2 threads")):
        columns = [(named(shape), shape, mode, threads) for shape in figures.shapes("tables")]
        parts.append(grid(figures, "tables", columns, f"ns a decision, {said}"))
    return "\n\n".join(parts)


def of_memory(figures):
    lines = ["| | bytes a key from 1M to 16M keys: mean | most | insert on the way to 4M: p50, ns | p99.99, us | longest, us of its thread |", "|---|---|---|---|---|---|"]
    for name in figures.names("inserts"):
        growth = figures.find("growth", name=name)
        memory = [f"{sum(growth['bytes_per_key']) / len(growth['bytes_per_key']):.1f}", f"{max(growth['bytes_per_key']):.1f}"] if growth else ["", ""]
        inserts = [cell([value / scale for value in figures.inserts(name, figure)])
                   for figure, scale in (("p50_ns", 1), ("p9999_ns", 1e3), ("max_ns", 1e3))]
        lines.append(f"| {name} | " + " | ".join(memory + inserts) + " |")
    return "\n".join(lines)


def counted(count, what):
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def binding(told):
    """What a binding's benchmark tells: a table for each section, a column for each number of keys and threads."""
    figures, versions = Figures(told["rows"]), dict(told["versions"])
    machine, date, load = versions.pop("machine"), versions.pop("date"), versions.pop("load_average_at_start", 0)
    parts = [f"{date}, {machine}; {', '.join(f'{name} {version}' for name, version in versions.items())}; load average when it began: {load:.1f}; "
             f"{told['rounds']} rounds in turn, medians ± half the distance of lowest and highest (the lowest)."]
    for section in dict.fromkeys(row["section"] for row in told["rows"]):
        rows = [row for row in told["rows"] if row["section"] == section]
        columns = sorted({(row["keys"], row["threads"]) for row in rows})
        several = len({keys for keys, _ in columns}) > 1
        heads = [" ".join(part for part in (counted(keys, "key") if several else "", counted(threads, "thread") if threads > 1 else "") if part)
                 or "1 thread" for keys, threads in columns]
        lines = [f"| ns, {section} | " + " | ".join(heads) + " |", "|---" * (len(columns) + 1) + "|"]
        for name in dict.fromkeys(row["name"] for row in rows):
            found = (figures.find(section, name=name, keys=keys, threads=threads) for keys, threads in columns)
            lines.append(f"| {name} | " + " | ".join(cell(row and row["ns"]) for row in found) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def of_reload(figures):
    lines = ["| whole `rl_allow` among 1M keys | rules | swaps | p50, ns | p99 | p99.9 | p99.99 | longest |", "|---|---|---|---|---|---|---|---|"]
    for row in figures.rows:
        if row["section"] == "reload":
            lines.append(f"| {row['name']} | {row['rules']:,} | {row['reloads']} | "
                         + " | ".join(f"{row[figure]:,.0f}" for figure in ("p50_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns")) + " |")
    return "\n".join(lines)


def of_exact(figures):
    lines = ["| four threads, growth and swaps under way | keys | capacity | admitted | swaps |", "|---|---|---|---|---|"]
    lines += [f"| {row['name']} | {row['keys']:,} | {row['capacity']:,} | {row['admitted']:,} | {row['reloads']} |" for row in figures.rows if row["section"] == "exact"]
    return "\n".join(lines)


def decide(told):
    figures = Figures(told["rows"])
    present = {row["section"] for row in told["rows"]}
    columns = [(f"{threads} threads" if threads > 1 else "1 thread", threads) for threads in (1, 2)]
    parts = [head(told)]
    if "tables" in present:
        parts.append(of_keys(figures))
    if "hot" in present:
        parts.append(grid(figures, "hot", [(f"{shape}, {said}", shape, "back to back", threads) for shape in ("denied", "allowed") for said, threads in columns],
                          "ns a decision, one hot key"))
    if "several" in present:
        parts.append(grid(figures, "several", [(f"{named(shape)} keys, {said}", shape, "back to back", threads) for shape in figures.shapes("several")
                                               for said, threads in columns], "ns a request of three limits"))
    if "rules" in present:
        parts.append(grid(figures, "rules", [(f"{int(shape):,} rules", shape, "back to back", 1) for shape in figures.shapes("rules")], "ns a decision, 1k keys"))
    if {"growth", "inserts"} <= present:
        parts.append(of_memory(figures))
    if "reload" in present:
        parts.append(of_reload(figures))
    if "exact" in present:
        parts.append(of_exact(figures))
    return "\n\n".join(parts)


def megabytes(values):
    return f"{values[0] / 2**20:,.0f} at first, {max(values) / 2**20:,.0f} at most, {values[-1] / 2**20:,.0f} at the end"


def scale(told):
    flood, steady = (next(row for row in told["rows"] if row["name"] == name) for name in ("flood", "steady"))
    return "\n".join([
        head(told), "",
        "| | flood of keys that come once | known keys, a window later |", "|---|---|---|",
        f"| decisions, 2 threads, batches of 32 | {flood['keys']:,} | {steady['decisions'] - flood['keys']:,} |",
        f"| distinct keys | {flood['keys']:,} | {steady['keys']:,} |",
        f"| `max_keys` | {flood['budget']:,} | {flood['budget']:,} |",
        f"| most keys held | {flood['most_keys']:,} | {steady['most_keys']:,} |",
        f"| live keys dropped | {flood['evicted_live']:,} | |",
        f"| ns a decision | {number(flood['ns'])} | {number(steady['ns'])} |",
        f"| resident MiB | {megabytes(flood['resident_bytes'])} | {megabytes(steady['resident_bytes'])} |",
        f"| a client at its limit of {flood['victim_limit']} | asked {flood['victim_asked']:,} times more, admitted {flood['victim_got_more']} | |",
    ])
