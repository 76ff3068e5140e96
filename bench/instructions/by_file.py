#!/usr/bin/env python3
"""by_file.py DECIDE [--write]: where the instructions of a decision are spent, by source file, under callgrind with simulated branch prediction.

Twice as many decisions against as many, as in count.py. --write writes bench/results/profile.json, of which bench/report.py makes a table.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from count import PER_CALL

CASES = ("allow_rule_token_bucket", "allow_rule_denied", "allow_many", "allow", "allow_1000_rules")
COUNT = 2000
LINE = re.compile(r"^\s*([\d,]+) \([^)]*\)\s+(.*?)\s+(\S+?):(.*)$")
OURS = re.compile(r"(?:^|/)((?:src|capi)/[\w/]+\.[ch]pp)$")


def annotated(program, case, count):
    """{place: [instructions, mispredicted branches]}"""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/out"
        subprocess.run(["valgrind", "--tool=callgrind", "--branch-sim=yes", f"--callgrind-out-file={out}", program, case, str(count)],
                       capture_output=True, check=True)
        text = subprocess.run(["callgrind_annotate", "--threshold=100", "--auto=no", out], capture_output=True, text=True, check=True).stdout
    places = collections.defaultdict(lambda: [0, 0])
    for line in text.splitlines():
        found = LINE.match(line)
        if not found:
            continue
        # Columns: Ir Bc Bcm Bi Bim, a dot or 0 for none.
        figures = re.findall(r"([\d,]+) \([^)]*\)|(?<= )[.0](?= )", line[:line.index(found[3])])
        figures = [int(one.replace(",", "")) if one else 0 for one in figures] + [0] * 5
        place = places[place_of(found[3])]
        place[0] += figures[0]
        place[1] += figures[2] + figures[4]
    return places


def place_of(path):
    ours = OURS.search(path)
    if ours:
        return ours[1]
    name = path.rsplit("/", 1)[-1]
    return name if name == "xxhash.h" else "C++ library" if "/c++/" in path else "others, and the caller"


def profile(program, case):
    few, many = annotated(program, case, COUNT), annotated(program, case, 2 * COUNT)
    per = COUNT * PER_CALL.get(case, 1)
    rows = {place: [round((many[place][part] - few.get(place, [0, 0])[part]) / per, 2) for part in (0, 1)] for place in many}
    return {place: row for place, row in sorted(rows.items(), key=lambda one: -one[1][0]) if row[0] >= 0.5}


def table(told):
    """Instructions by file; the last row has the mispredictions."""
    totals = collections.Counter()
    for places in told.values():
        for place, (instructions, _) in places.items():
            totals[place] += instructions
    lines = ["| instructions a decision | " + " | ".join(f"`{case}`" for case in told) + " |", "|---" * (len(told) + 1) + "|"]
    shown = [place for place, _ in totals.most_common() if any(places.get(place, [0])[0] >= 20 for places in told.values())]
    for place in shown:
        lines.append(f"| {place} | " + " | ".join(f"{places[place][0]:.0f}" if place in places else "" for places in told.values()) + " |")
    rest = (sum(row[0] for place, row in places.items() if place not in shown) for places in told.values())
    lines.append("| what takes less than 20 | " + " | ".join(f"{count:.0f}" for count in rest) + " |")
    for said, part, digits in (("all", 0, 0), ("branches predicted wrongly", 1, 2)):
        lines.append(f"| **{said}** | " + " | ".join(f"{sum(row[part] for row in places.values()):.{digits}f}" for places in told.values()) + " |")
    return "\n".join(lines)


def main():
    told = {case: profile(sys.argv[1], case) for case in CASES}
    print(table(told))
    if "--write" in sys.argv:
        results = pathlib.Path(__file__).resolve().parent.parent / "results"
        results.mkdir(exist_ok=True)
        (results / "profile.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
