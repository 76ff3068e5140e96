"""Targets and what was measured for them, as a table."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "redis"))

from table import number  # noqa: E402


class Judge:
    """Collects figures against targets. `measured` is (median, spread), or None when there was nothing to measure with; a target of None is not judged."""

    def __init__(self):
        self.told = []

    def at_most(self, row, what, measured, target):
        self._add(row, what, measured, target, "≤")

    def at_least(self, row, what, measured, target):
        self._add(row, what, measured, target, "≥")

    def _add(self, row, what, measured, target, sense):
        self.told.append((row, what, measured, target, sense))

    def table(self):
        lines = ["| # | what | target | measured | |", "|---|---|---|---|---|"]
        for row, what, measured, target, sense in sorted(self.told, key=lambda one: one[0]):
            lines.append(f"| {row} | {what} | {'' if target is None else f'{sense} {plain(target)}'} | {shown(measured)} | {verdict(measured, target, sense)} |")
        return "\n".join(lines)

    def summary(self):
        judged = [(measured, target, sense) for _, _, measured, target, sense in self.told if target is not None]
        verdicts = [verdict(*one) for one in judged]
        return f"{verdicts.count('met')} of {len(judged)} figures meet their target, {sum('missed' in one for one in verdicts)} miss it, {verdicts.count('')} were not measured."


def plain(value):
    return f"{value:,}" if isinstance(value, int) else f"{value:.2g}" if 0 < value < 0.1 else number(value)


def shown(measured):
    if measured is None:
        return "not measured"
    median, spread = measured
    return plain(float(median)) + (f" ±{100 * spread:.0f} %" if spread else "")


def verdict(measured, target, sense):
    if measured is None or target is None:
        return ""
    if measured[0] <= target if sense == "≤" else measured[0] >= target:
        return "met"
    if measured[0] <= 0:
        return "**missed**"
    by = measured[0] / target if sense == "≤" else target / measured[0]
    return f"**missed** by {by:.2f}x"
