"""Targets 14 and 16 of docs/performance.md, out of what bench/go has measured. Rows are those of a round each, as bench/decide's."""

from figures import Figures

GO_PEERS = ("x/time/rate in a map", "sethvargo/go-limiter", "throttled GCRA", "go-chi/httprate counter")


def go(judge, told):
    figures = Figures(told["rows"] if told else [])

    def ns(section, name, keys, threads=1):
        row = figures.find(section, name=name, keys=keys, threads=threads)
        return row["ns"] if row else None

    for keys, said, most in ((1_000, "1k", 0.8), (1_000_000, "1M", 0.6)):
        for threads in (1, 2):
            best = figures.least(*(ns("allowed", name, keys, threads) for name in GO_PEERS))
            judge.at_most(14, f"Go, `Allow` / the best peer, {said} keys, {threads} goroutine{'s' if threads > 1 else ''}",
                          figures.ratio(ns("allowed", "ratel Allow", keys, threads), best), most)
        best = figures.least(*(ns("allowed", name, keys) for name in GO_PEERS))
        judge.at_most(14, f"Go, batches of 16 / the best peer, {said} keys", figures.ratio(ns("batch of 16", "ratel AllowManyInto", keys), best), 0.25)

    # What a middleware adds to a handler, over the processor time of a server without one.
    def share(name):
        added = [one - none for one, none in zip(ns("middleware", name, 1) or [], ns("middleware", "none", 1) or [])]
        return figures.ratio(added, ns("http", "none", 1))
    judge.at_most(16, "Go net/http, share of the middleware in a request's processor time", share("ratelhttp"), 0.02)
    judge.at_most(16, "Go net/http, the same of go-chi/httprate (no target)", share("go-chi/httprate"), None)
