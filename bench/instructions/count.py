#!/usr/bin/env python3
"""count.py DECIDE [--write]: instructions per decision, by callgrind, held against budget.json.

Instructions repeat exactly where times do not. A case passes when it takes no more than its budget and two in a hundred; that much is what
another C library makes. The budget only goes down: --write lowers it to what was counted, and never raises it.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

BUDGET = pathlib.Path(__file__).resolve().parent / "budget.json"
COUNT = 2000
PER_CALL = {"allow_many": 32, "allow_many_rule": 32}
NEVER_ALLOWED = {"allow_rule_denied"}


def run(program, case, count):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, case, str(count)],
                              capture_output=True, text=True, check=True)
    allowed = int(done.stdout)
    assert allowed == (0 if case in NEVER_ALLOWED else count), f"{case}: {allowed} of {count} allowed"
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def main():
    program = sys.argv[1]
    budget = json.loads(BUDGET.read_text())
    failed = 0
    for case, most in budget.items():
        counted = round((run(program, case, 2 * COUNT) - run(program, case, COUNT)) / COUNT / PER_CALL.get(case, 1))
        good = counted <= most * 1.02
        failed += not good
        print(f"{'ok   ' if good else 'FAIL '} {case}: {counted} instructions, budget {most}")
        if "--write" in sys.argv and counted < most:
            budget[case] = counted
    if "--write" in sys.argv:
        BUDGET.write_text(json.dumps(budget, indent=2) + "\n")
    print(f"\n{len(budget) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
