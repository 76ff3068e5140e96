#!/usr/bin/env python3
"""charts.py: draws what bench/results/*.json says as bars, into bench/results/*.svg. Ratel's bars are dark."""

import json
import pathlib
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


def write(name, title, values):
    values = [one for one in values if one[1] is not None]
    if values:
        (RESULTS / f"{name}.svg").write_text(bars(title, values))
        print(f"bench/results/{name}.svg")


def of(name):
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def main():
    for told, figure, title in ((of("redis"), "decisions_per_server_second", "Decisions per second of the server's processor"),
                                (of("redis-instructions"), "server_instructions", "Instructions of the server a decision")):
        for load, told_load in (told or {"loads": {}})["loads"].items():
            write(f"{'redis' if 'second' in figure else 'redis-instructions'}-{load}", f"{title}: {told_load['what']}",
                  [(name, row[figure], name.startswith("ratel")) for name, row in told_load["rows"].items()])
    for name in ("simulation", "simulation-1000"):
        modes = of(name)
        if modes:
            for part in ("too_many", "too_few"):
                write(f"{name}-{part.replace('_', '-')}", f"{part.replace('_', ' ').capitalize()}, percent of what is ideal",
                      [(one["mode"], 100 * one[part] / one["ideal"], True) for one in modes])


if __name__ == "__main__":
    main()
