// Package ratelgrpc puts a ratel.Limiter in front of gRPC services.
package ratelgrpc

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	ratel "github.com/ratel/ratel/bindings/go"
)

// Options are the hooks of the interceptors. Each may be nil. method is the full method, such as "/shop.Orders/Create".
type Options struct {
	User       func(ctx context.Context, method string) string
	APIKey     func(ctx context.Context, method string) string
	Attributes func(ctx context.Context, method string) []ratel.Attribute
	Cost       func(ctx context.Context, method string) int64 // units, 0: what the rule says
	Skip       func(ctx context.Context, method string) bool  // true: neither asked nor counted

	// Denied makes the error of a denial in place of the status that this package makes.
	Denied func(context.Context, ratel.Decision) error

	// Headers chooses the header fields, which become response metadata; 0 is what the rule set says.
	Headers ratel.HeaderFlags
}

// UnaryServerInterceptor asks for each call: path is its full method, the method is POST. Denials are ResourceExhausted (with
// RetryInfo when waiting helps), PermissionDenied for action: block, Unavailable when the store failed and the rule is closed.
func UnaryServerInterceptor(limiter *ratel.Limiter, options Options) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		set := func(fields metadata.MD) error { return grpc.SetHeader(ctx, fields) }
		if err := admit(ctx, limiter, &options, info.FullMethod, set); err != nil {
			return nil, err
		}
		return handle(ctx, request)
	}
}

// StreamServerInterceptor asks once for each stream, when it begins.
func StreamServerInterceptor(limiter *ratel.Limiter, options Options) grpc.StreamServerInterceptor {
	return func(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if err := admit(stream.Context(), limiter, &options, info.FullMethod, stream.SetHeader); err != nil {
			return err
		}
		return handle(service, stream)
	}
}

func admit(ctx context.Context, limiter *ratel.Limiter, options *Options, method string, set func(metadata.MD) error) error {
	if options.Skip != nil && options.Skip(ctx, method) {
		return nil
	}
	address := ""
	if from, ok := peer.FromContext(ctx); ok && from.Addr != nil {
		address = from.Addr.String()
	}
	received, _ := metadata.FromIncomingContext(ctx)
	from := ratel.HTTP{
		Peer:          address,
		XForwardedFor: received.Get("x-forwarded-for"),
		Forwarded:     received.Get("forwarded"),
		Headers:       options.Headers,
	}
	decision, lines, err := limiter.AllowHTTP(ctx, question(ctx, options, method), from, nil)
	if err != nil {
		return failed(ctx, err)
	}
	if fields := fieldsOf(string(lines)); len(fields) > 0 {
		if err := set(fields); err != nil {
			return err
		}
	}
	if !decision.Allowed {
		return denied(ctx, options, decision)
	}
	return hold(ctx, decision.Delay())
}

func question(ctx context.Context, options *Options, method string) ratel.Request {
	question := ratel.Request{Method: "POST", Path: method}
	if options.User != nil {
		question.User = options.User(ctx, method)
	}
	if options.APIKey != nil {
		question.APIKey = options.APIKey(ctx, method)
	}
	if options.Attributes != nil {
		question.Attributes = options.Attributes(ctx, method)
	}
	if options.Cost != nil {
		question.Cost = options.Cost(ctx, method)
	}
	return question
}

func fieldsOf(lines string) metadata.MD {
	fields := metadata.MD{}
	for line := range strings.SplitSeq(lines, "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			fields.Append(name, value)
		}
	}
	return fields
}

func denied(ctx context.Context, options *Options, decision ratel.Decision) error {
	if options.Denied != nil {
		return options.Denied(ctx, decision)
	}
	switch decision.Reason {
	case ratel.ReasonBlocked:
		return status.Error(codes.PermissionDenied, "blocked by a rule")
	case ratel.ReasonStore:
		return status.Error(codes.Unavailable, "the limits could not be checked")
	case ratel.ReasonNeverFits:
		return status.Error(codes.ResourceExhausted, "the call costs more than the limit ever allows")
	}
	answer := status.New(codes.ResourceExhausted, "over the limit")
	if detailed, err := answer.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(decision.RetryAfter())}); err == nil {
		answer = detailed
	}
	return answer.Err()
}

func failed(ctx context.Context, err error) error {
	var why *ratel.Error
	switch {
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case errors.As(err, &why) && why.Code == ratel.ErrInvalidArgument && why.Cause == nil:
		return status.Error(codes.InvalidArgument, why.Message)
	default:
		return status.Error(codes.Unavailable, "the limits could not be checked")
	}
}

func hold(ctx context.Context, delay time.Duration) error {
	if delay == 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}
