#!/usr/bin/env python3
"""What is said of a figure: a verdict that is wrong would be believed."""

import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "decide")]

from figures import Figures  # noqa: E402
from judge import Judge, verdict  # noqa: E402


class Judging(unittest.TestCase):
    def test_a_bound_is_met_up_to_itself(self):
        self.assertEqual(verdict((1.2, 0), 1.2, "≤"), "met")
        self.assertEqual(verdict((1.8, 0), 1.2, "≤"), "**missed** by 1.50x")
        self.assertEqual(verdict((9.0, 0), 9, "≥"), "met")
        self.assertEqual(verdict((4.5, 0), 9, "≥"), "**missed** by 2.00x")
        self.assertEqual(verdict((-3.0, 0), 2, "≤"), "met")

    def test_what_was_not_measured_is_not_met(self):
        judge = Judge()
        judge.at_most(1, "a", None, 1)
        judge.at_least(2, "b", (2, 0.1), 1)
        judge.at_least(2, "c", (0.5, 0), None)
        self.assertEqual(judge.summary(), "1 of 2 figures meet their target, 0 miss it, 1 were not measured.")
        self.assertIn("| 1 | a | ≤ 1 | not measured |  |", judge.table())
        self.assertIn("| 2 | b | ≥ 1 | 2.00 ±10 % | met |", judge.table())

    def test_ratios_are_taken_round_by_round(self):
        figures = Figures([])
        # The second round was disturbed as a whole: the ratio does not see it.
        self.assertEqual(figures.ratio([10, 100, 12], [5, 50, 6]), (2, 0))
        self.assertEqual(figures.least([3, 1], [2, 4], None), [2, 1])
        self.assertIsNone(figures.ratio([1], None))


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    print(f"\n{result.testsRun - len(result.failures) - len(result.errors)} passed, {len(result.failures) + len(result.errors)} failed")
    sys.exit(not result.wasSuccessful())
