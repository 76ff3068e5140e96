package ratel

import (
	"context"
	"fmt"
	"time"
)

// Wait asks until the request is admitted, sleeping what each denial tells, and then holds it back for its delay. When the
// wait would outlast ctx it returns at once, with an error that wraps context.DeadlineExceeded; nothing is spent then. A denial that
// waiting does not cure is ErrDenied. The decision returned is the last one.
func (l *Limiter) Wait(ctx context.Context, request Request) (Decision, error) {
	return l.wait(ctx, request, costOf(request.Cost))
}

// WaitN is Wait for n units, at least 1, whatever request.Cost is.
func (l *Limiter) WaitN(ctx context.Context, request Request, n int64) (Decision, error) {
	return l.wait(ctx, request, unitsOf(n))
}

func (l *Limiter) wait(ctx context.Context, request Request, cost int64) (Decision, error) {
	for {
		var decision Decision
		if err := l.allow(ctx, &request, cost, &decision); err != nil {
			return decision, err
		}
		if decision.Allowed {
			return decision, l.holdBack(ctx, request, decision)
		}
		if decision.Reason != ReasonLimited {
			return decision, fmt.Errorf("%w: %s", ErrDenied, decision.Reason)
		}
		if err := sleep(ctx, decision.RetryAfter()); err != nil {
			return decision, err
		}
	}
}

// holdBack sleeps the delay, or gives back what was spent when nobody will wait that long.
func (l *Limiter) holdBack(ctx context.Context, request Request, decision Decision) error {
	err := sleep(ctx, decision.Delay())
	if err != nil {
		_, _ = l.Settle(context.WithoutCancel(ctx), request, decision, 0)
	}
	return err
}

func sleep(ctx context.Context, wait time.Duration) error {
	if wait == 0 {
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return fmt.Errorf("ratel: the wait of %v would outlast the context: %w", wait, context.DeadlineExceeded)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
