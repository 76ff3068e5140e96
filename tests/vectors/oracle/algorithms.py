"""The five algorithms, by definition: exact fractions and plain lists, no formula for a wait.

Instants are ticks (whole numbers). A state of None is "new". A state is never changed in place.

Each algorithm says what its state is worth at an instant; whether a cost fits then; and the state after spending. The
wait is not computed: it is searched for, as the first tick at which the same request fits.
"""

from fractions import Fraction
from math import gcd


class Numbers:
    """A limit's numbers in its own ticks of `tick` microseconds."""

    def __init__(self, algorithm, limit, window_us, burst=None, tick=1):
        assert limit > 0 and window_us > 0 and window_us % tick == 0
        self.algorithm = algorithm
        self.limit = limit
        self.window_us = window_us
        self.window = window_us // tick
        self.capacity = burst or limit
        self.tick = tick
        self.rate = Fraction(limit, self.window)

    def key(self):
        return (self.algorithm, self.limit, self.window_us, self.capacity, self.tick)

    def grain(self):
        """Levels are whole multiples of this, so that one tick refills a whole number of them (semantics 3)."""
        return Fraction(gcd(self.limit, self.window), self.window)


def ceil(x):
    return -((-x.numerator) // x.denominator) if isinstance(x, Fraction) else x


def floor(x):
    return x.numerator // x.denominator if isinstance(x, Fraction) else x


def first_tick(fits, start):
    """The first tick from `start` on at which fits(tick); what fits once goes on fitting."""
    if fits(start):
        return start
    step = 1
    while not fits(start + step):
        step *= 2
    low, high = start + step // 2, start + step
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


class TokenBucket:
    """State: (last, level). Starts full."""

    @staticmethod
    def stored(n, state):
        return state[0]

    @staticmethod
    def pull_back(n, state, now):
        return (now, state[1])

    @staticmethod
    def level(n, state, t):
        if state is None:
            return Fraction(n.capacity)
        last, level = state
        return min(Fraction(n.capacity), level + max(0, t - last) * n.rate)

    @classmethod
    def fits(cls, n, state, t, cost):
        return cls.level(n, state, t) >= cost

    @classmethod
    def spend(cls, n, state, t, cost):
        last = t if state is None else max(t, state[0])
        return (last, cls.level(n, state, t) - cost)

    @classmethod
    def remaining(cls, n, state, t):
        return max(0, floor(cls.level(n, state, t)))

    @classmethod
    def is_new(cls, n, state, t):
        return cls.level(n, state, t) == n.capacity

    @staticmethod
    def delay(n, state, t):
        return 0

    @classmethod
    def settle(cls, n, state, t, charged_at, spent, actual):
        last = t if state is None else max(t, state[0])
        level = cls.level(n, state, t) + spent - actual
        return (last, max(-Fraction(n.capacity), min(Fraction(n.capacity), level)))

    @classmethod
    def convert(cls, old, new, state, t_old, t_new):
        """The level carries over in units; rounded down to the new grain, since nothing is handed back."""
        level = min(cls.level(old, state, t_old), Fraction(new.capacity))
        level = max(level, -Fraction(new.capacity))
        return (t_new, floor(level / new.grain()) * new.grain())


class LeakyBucket:
    """State: (last, queue). Starts empty."""

    @staticmethod
    def stored(n, state):
        return state[0]

    @staticmethod
    def pull_back(n, state, now):
        return (now, state[1])

    @staticmethod
    def queue(n, state, t):
        if state is None:
            return Fraction(0)
        last, queue = state
        return max(Fraction(0), queue - max(0, t - last) * n.rate)

    @classmethod
    def fits(cls, n, state, t, cost):
        return cls.queue(n, state, t) + cost <= n.capacity

    @classmethod
    def spend(cls, n, state, t, cost):
        last = t if state is None else max(t, state[0])
        return (last, cls.queue(n, state, t) + cost)

    @classmethod
    def remaining(cls, n, state, t):
        return max(0, floor(n.capacity - cls.queue(n, state, t)))

    @classmethod
    def is_new(cls, n, state, t):
        return cls.queue(n, state, t) == 0

    @classmethod
    def delay(cls, n, state, t):
        return ceil(cls.queue(n, state, t) / n.rate)

    @classmethod
    def settle(cls, n, state, t, charged_at, spent, actual):
        last = t if state is None else max(t, state[0])
        queue = cls.queue(n, state, t) + actual - spent
        return (last, max(Fraction(0), min(Fraction(2 * n.capacity), queue)))

    @classmethod
    def convert(cls, old, new, state, t_old, t_new):
        """The queue carries over in units, cut to the new capacity; what a late charge put beyond the old one stays owed."""
        queue = cls.queue(old, state, t_old)
        queue = min(queue, new.capacity + max(Fraction(0), queue - old.capacity), Fraction(2 * new.capacity))
        return (t_new, ceil(queue / new.grain()) * new.grain())


def corrected(n, count, spent, actual):
    """A window's count after a settle: a late charge takes it to twice the limit at most, and lowers nothing."""
    return max(0, count + min(actual - spent, max(0, 2 * n.limit - count)))


class FixedWindow:
    """State: (start, count)."""

    @staticmethod
    def stored(n, state):
        return state[0]

    @staticmethod
    def start(n, t):
        return t - t % n.window

    @classmethod
    def pull_back(cls, n, state, now):
        return (cls.start(n, now), state[1])

    @classmethod
    def held(cls, n, state, t):
        """The window that decides at t, and its count."""
        start = cls.start(n, t)
        if state is None or state[0] < start:
            return start, 0
        return state

    @classmethod
    def fits(cls, n, state, t, cost):
        return cls.held(n, state, t)[1] + cost <= n.limit

    @classmethod
    def spend(cls, n, state, t, cost):
        start, count = cls.held(n, state, t)
        return (start, count + cost)

    @classmethod
    def remaining(cls, n, state, t):
        return max(0, n.limit - cls.held(n, state, t)[1])

    @classmethod
    def is_new(cls, n, state, t):
        return cls.held(n, state, t)[1] == 0

    @staticmethod
    def delay(n, state, t):
        return 0

    @classmethod
    def settle(cls, n, state, t, charged_at, spent, actual):
        if state is None or state[0] != cls.start(n, charged_at):
            return state
        start, count = state
        return (start, corrected(n, count, spent, actual))

    @classmethod
    def convert(cls, old, new, state, t_old, t_new):
        return (cls.start(new, t_new), cls.held(old, state, t_old)[1])


class SlidingLog:
    """State: [(time, cost), ...], oldest first, equal times merged."""

    @staticmethod
    def stored(n, state):
        return state[-1][0]

    @staticmethod
    def pull_back(n, state, now):
        kept = [entry for entry in state if entry[0] < now]
        return kept + [(now, sum(cost for time, cost in state if time >= now))]

    @staticmethod
    def entries(n, state, t):
        if not state:
            return []
        t = max(t, state[-1][0])
        return [entry for entry in state if t - n.window < entry[0] <= t]

    @classmethod
    def units(cls, n, state, t):
        return sum(cost for _, cost in cls.entries(n, state, t))

    @classmethod
    def fits(cls, n, state, t, cost):
        return cls.units(n, state, t) + cost <= n.limit

    @classmethod
    def spend(cls, n, state, t, cost):
        entries = list(cls.entries(n, state, t))
        t = max(t, entries[-1][0]) if entries else t
        if entries and entries[-1][0] == t:
            cost += entries.pop()[1]
        return entries + [(t, cost)]

    @classmethod
    def remaining(cls, n, state, t):
        return max(0, n.limit - cls.units(n, state, t))

    @classmethod
    def is_new(cls, n, state, t):
        return not cls.entries(n, state, t)

    @staticmethod
    def delay(n, state, t):
        return 0

    @classmethod
    def settle(cls, n, state, t, charged_at, spent, actual):
        room = max(0, 2 * n.limit - cls.units(n, state, t))
        entries = []
        for time, cost in cls.entries(n, state, t):
            if time == charged_at:
                cost = max(0, cost + min(actual - spent, room))
            if cost:
                entries.append((time, cost))
        return entries or None

    @classmethod
    def convert(cls, old, new, state, t_old, t_new):
        assert old.tick == new.tick
        return list(cls.entries(old, state, t_old))


class SlidingCounter:
    """State: (start, previous, current)."""

    @staticmethod
    def stored(n, state):
        return state[0]

    @staticmethod
    def start(n, t):
        return t - t % n.window

    @classmethod
    def pull_back(cls, n, state, now):
        return (cls.start(n, now),) + state[1:]

    @classmethod
    def held(cls, n, state, t):
        start = cls.start(n, t)
        if state is None or start > state[0] + n.window:
            return start, 0, 0
        if start == state[0] + n.window:
            return start, state[2], 0
        return state

    @classmethod
    def load(cls, n, state, t):
        """What the counts weigh at t, in units."""
        start, previous, current = cls.held(n, state, t)
        elapsed = max(0, t - start)
        return previous * Fraction(n.window - elapsed, n.window) + current

    @classmethod
    def fits(cls, n, state, t, cost):
        return cls.load(n, state, t) + cost <= n.limit

    @classmethod
    def spend(cls, n, state, t, cost):
        start, previous, current = cls.held(n, state, t)
        return (start, previous, current + cost)

    @classmethod
    def remaining(cls, n, state, t):
        return max(0, floor(n.limit - cls.load(n, state, t)))

    @classmethod
    def is_new(cls, n, state, t):
        return cls.held(n, state, t)[1:] == (0, 0)

    @staticmethod
    def delay(n, state, t):
        return 0

    @classmethod
    def settle(cls, n, state, t, charged_at, spent, actual):
        start, previous, current = cls.held(n, state, t)
        charged = cls.start(n, charged_at)
        if charged == start:
            return (start, previous, corrected(n, current, spent, actual))
        if charged == start - n.window:
            return (start, corrected(n, previous, spent, actual), current)
        return state

    @classmethod
    def convert(cls, old, new, state, t_old, t_new):
        start, previous, current = cls.held(old, state, t_old)
        weight = previous * Fraction(old.window - max(0, t_old - start), old.window)
        return (cls.start(new, t_new), 0, current + ceil(weight))


ALGORITHMS = {
    "token_bucket": TokenBucket,
    "leaky_bucket": LeakyBucket,
    "fixed_window": FixedWindow,
    "sliding_log": SlidingLog,
    "sliding_counter": SlidingCounter,
}


class Outcome:
    """What one limit answers, in ticks."""

    def __init__(self, allowed, never_fits, retry_at, delay):
        self.allowed = allowed
        self.never_fits = never_fits
        self.retry_at = retry_at
        self.delay = delay
        self.remaining = None
        self.reset_at = None


def repaired(n, state, now):
    """The clock firewall (semantics 4)."""
    algorithm = ALGORITHMS[n.algorithm]
    if state is not None and algorithm.stored(n, state) > now + n.window:
        return algorithm.pull_back(n, state, now)
    return state


def evaluate(n, state, now, cost):
    """Would it be admitted; nothing is spent. `state` is already repaired."""
    algorithm = ALGORITHMS[n.algorithm]
    if cost > n.capacity:
        return Outcome(False, True, None, 0)
    if algorithm.fits(n, state, now, cost):
        return Outcome(True, False, now, algorithm.delay(n, state, now))
    return Outcome(False, False, first_tick(lambda t: algorithm.fits(n, state, t, cost), now), 0)


def describe(n, state, now, outcome):
    """Fills in what the state is worth after the decision."""
    algorithm = ALGORITHMS[n.algorithm]
    outcome.remaining = algorithm.remaining(n, state, now)
    outcome.reset_at = first_tick(lambda t: algorithm.is_new(n, state, t), now)
