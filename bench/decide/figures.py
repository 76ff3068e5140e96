"""Looks things up in the rows of a run: medians, and ratios of cases that took turns."""

import statistics


def median_and_spread(values):
    """The median, and half the distance of lowest and highest as a fraction of it."""
    median = statistics.median(values)
    return median, (max(values) - min(values)) / 2 / median if median else 0


def budget(rows):
    return next(row["budget"] for row in rows if row["name"] == "flood")


class Figures:
    def __init__(self, rows):
        self.rows = rows

    def find(self, section, **wanted):
        found = [row for row in self.rows if row["section"] == section and all(row.get(key) == value for key, value in wanted.items())]
        return found[0] if found else None

    def ns(self, section, name, shape, mode="back to back", threads=1):
        row = self.find(section, name=name, shape=shape, mode=mode, threads=threads)
        return row["ns"] if row else None

    def ratio(self, above, below):
        """Of two lists of rounds, round by round; None where one is missing."""
        if not above or not below:
            return None
        return median_and_spread([a / b for a, b in zip(above, below)])

    def shapes(self, section):
        return list(dict.fromkeys(row["shape"] for row in self.rows if row["section"] == section))

    def names(self, section):
        return list(dict.fromkeys(row["name"] for row in self.rows if row["section"] == section))

    def inserts(self, name, figure="max_ns"):
        return [row[figure] for row in self.rows if row["section"] == "inserts" and row["name"] == name]

    def least(self, *series):
        """Round by round the best of several."""
        given = [one for one in series if one]
        return [min(values) for values in zip(*given)] if given else None
