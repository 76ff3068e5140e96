#!/usr/bin/env python3
"""charts.py: draws what bench/results/*.json says into bench/results/*.svg. What is Ratel's is dark."""

import json
import pathlib
import statistics
from xml.sax.saxutils import escape

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
WIDTH, NAMES, ROW, HEAD = 760, 270, 22, 34


def bars(title, values):
    """An SVG of one bar for each (name, value, is ours)."""
    most = max(value for _, value, _ in values)
    height = HEAD + ROW * len(values) + 8
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', f'<text x="8" y="20" font-size="14" fill="#111111">{escape(title)}</text>']
    for row, (name, value, ours) in enumerate(values):
        y = HEAD + row * ROW
        length = max(1, (WIDTH - NAMES - 90) * value / most)
        lines += [f'<text x="{NAMES - 8}" y="{y + 13}" text-anchor="end" fill="#111111">{escape(name)}</text>',
                  f'<rect x="{NAMES}" y="{y}" width="{length:.1f}" height="16" fill="{"#1f4e79" if ours else "#a8bccf"}"/>',
                  f'<text x="{NAMES + length + 6:.1f}" y="{y + 13}" fill="#111111">{value:,.3g}</text>' if value < 100 else
                  f'<text x="{NAMES + length + 6:.1f}" y="{y + 13}" fill="#111111">{value:,.0f}</text>']
    return "\n".join([*lines, "</svg>"]) + "\n"


def lines(title, series, across, upwards):
    """An SVG of one line for each (name, xs, ys, is ours); the axes begin at 0."""
    left, top, right, bottom = 60, 44, WIDTH - 190, 320
    most_x, most_y = (max(max(one[part]) for one in series) for part in (1, 2))
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 360" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="360" fill="#ffffff"/>', f'<text x="8" y="20" font-size="14" fill="#111111">{escape(title)}</text>',
             f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#111111"/>',
             f'<text x="{right}" y="{bottom + 32}" text-anchor="end" fill="#111111">{escape(across)}</text>',
             f'<text x="8" y="{top - 6}" fill="#111111">{escape(upwards)}</text>']
    for part in range(5):
        y, x = bottom - (bottom - top) * part / 4, left + (right - left) * part / 4
        drawn += [f'<text x="{left - 6}" y="{y + 4:.0f}" text-anchor="end" fill="#111111">{most_y * part / 4:,.0f}</text>',
                  f'<text x="{x:.0f}" y="{bottom + 16}" text-anchor="middle" fill="#111111">{most_x * part / 4:,.0f}</text>']
    for name, xs, ys, ours in series:
        points = [(left + (right - left) * x / most_x, bottom - (bottom - top) * y / most_y) for x, y in zip(xs, ys)]
        colour = "#1f4e79" if ours else "#a8bccf"
        drawn += [f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" fill="none" stroke="{colour}" stroke-width="2"/>',
                  f'<text x="{points[-1][0] + 6:.0f}" y="{points[-1][1] + 4:.0f}" fill="#111111">{escape(name)}</text>']
    return "\n".join([*drawn, "</svg>"]) + "\n"


def save(name, drawing):
    (RESULTS / f"{name}.svg").write_text(drawing)
    print(f"bench/results/{name}.svg")


def write(name, title, values):
    values = [one for one in values if one[1] is not None]
    if values:
        save(name, bars(title, values))


def of(name):
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def is_ours(name):
    return name.startswith(("rl_", "ratel"))


def decide(rows):
    """Of decisions in memory: time by mode, a hot key, memory while a table grows."""
    def times(name, title, section, **wanted):
        write(name, title, [(row["name"], statistics.median(row["ns"]), is_ours(row["name"])) for row in rows
                            if row["section"] == section and all(row[key] == value for key, value in wanted.items())])
    for mode in ("isolated", "back to back", "batch of 32"):
        times(f"decide-{mode.replace(' of 32', '').replace(' ', '-')}", f"Nanoseconds a decision, {mode}, 10M keys, 1 thread", "tables",
              mode=mode, threads=1, shape="10000000 uniform")
    for shape in ("denied", "allowed"):
        times(f"decide-hot-{shape}", f"Nanoseconds a decision, one hot key, {shape}, 2 threads", "hot", shape=shape, threads=2)
    grown = [(row["name"], [keys / 1e6 for keys in row["keys"]], row["bytes_per_key"], is_ours(row["name"])) for row in rows if row["section"] == "growth"]
    if grown:
        save("decide-growth", lines("Resident bytes a key while a table grows", grown, "million keys", "bytes"))
    churn = [(row["name"], list(range(1, len(row["resident_bytes"]) + 1)), [value / 2**20 for value in row["resident_bytes"]], True)
             for row in rows if row["section"] == "churn"]
    if churn:
        save("decide-churn", lines("Memory while keys come once and a million are alive", churn, "million keys so far", "MiB"))


def scale(rows):
    drawn, done = [], 0
    for row in rows:
        count = row["keys"] if row["name"] == "flood" else row["decisions"] - done
        values = row["resident_bytes"]
        drawn.append((row["name"], [(done + count * (i + 1) / len(values)) / 1e6 for i in range(len(values))], [value / 2**20 for value in values], True))
        done += count
    save("scale", lines("Memory: a flood of new keys, then known ones", drawn, "million decisions", "MiB"))


def main():
    for name, draw in (("decide", decide), ("scale", scale)):
        told = of(name)
        if told:
            draw(told["rows"])
    for told, figure, title in ((of("redis"), "decisions_per_server_second", "Decisions per second of the server's processor"),
                                (of("redis-instructions"), "server_instructions", "Instructions of the server a decision")):
        for load, told_load in (told or {"loads": {}})["loads"].items():
            write(f"{'redis' if 'second' in figure else 'redis-instructions'}-{load}", f"{title}: {told_load['what']}",
                  [(name, row[figure], name.startswith("ratel")) for name, row in told_load["rows"].items()])
    for name in ("simulation", "simulation-1000", "simulation-10m"):
        told = of(name)
        if told:
            who = f"{told['settings']['gateways']:,} gateways, {told['settings']['clients']:,} clients"
            for part in ("too_many", "too_few"):
                write(f"{name}-{part.replace('_', '-')}", f"{part.replace('_', ' ').capitalize()}, percent of what is ideal: {who}",
                      [(one["mode"], 100 * one[part] / one["ideal"], True) for one in told["modes"]])


if __name__ == "__main__":
    main()
