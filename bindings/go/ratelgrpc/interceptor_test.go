package ratelgrpc

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	ratel "github.com/ratel/ratel/bindings/go"
)

const rules = `
version: 1
trusted_proxies: [127.0.0.0/8]
headers: {x_ratelimit: true, retry_after: true, reset: delta}
rules:
  - {name: check, method: POST, path: /grpc.health.v1.Health/Check, scope: user, algorithm: token_bucket, limit: 2, window: 2d}
  - {name: watch, path: /grpc.health.v1.Health/Watch, scope: ip, algorithm: token_bucket, limit: 1, window: 2d}
  - {name: list, path: /grpc.health.v1.Health/List, action: block}
`

// serve runs the health service behind the interceptors.
func serve(t *testing.T, limiter *ratel.Limiter, options Options) healthpb.HealthClient {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(UnaryServerInterceptor(limiter, options)), grpc.StreamInterceptor(StreamServerInterceptor(limiter, options)))
	healthpb.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return healthpb.NewHealthClient(connection)
}

func newLimiter(t *testing.T, options ...ratel.Option) *ratel.Limiter {
	t.Helper()
	limiter, err := ratel.New(ratel.FromText(rules, "rules"), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = limiter.Close() })
	return limiter
}

var byUser = Options{User: func(ctx context.Context, _ string) string {
	fields, _ := metadata.FromIncomingContext(ctx)
	if users := fields.Get("user"); len(users) > 0 {
		return users[0]
	}
	return ""
}}

func check(client healthpb.HealthClient, fields ...string) (metadata.MD, error) {
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(context.Background(), fields...), time.Minute)
	defer cancel()
	var header metadata.MD
	_, err := client.Check(ctx, &healthpb.HealthCheckRequest{}, grpc.Header(&header))
	return header, err
}

func TestUnary(t *testing.T) {
	client := serve(t, newLimiter(t), byUser)
	header, err := check(client, "user", "alice")
	if err != nil || len(header.Get("x-ratelimit-remaining")) != 1 || header.Get("x-ratelimit-remaining")[0] != "1" {
		t.Fatalf("%v, %v", header, err)
	}
	_, _ = check(client, "user", "alice")
	header, err = check(client, "user", "alice")
	answer := status.Convert(err)
	if answer.Code() != codes.ResourceExhausted || len(answer.Details()) != 1 || len(header.Get("retry-after")) != 1 {
		t.Fatalf("%v, %v", header, err)
	}
	retry, ok := answer.Details()[0].(*errdetails.RetryInfo)
	if !ok || retry.RetryDelay.AsDuration() <= 23*time.Hour || retry.RetryDelay.AsDuration() > 24*time.Hour {
		t.Errorf("%v", answer.Details())
	}
	if _, err := check(client, "user", "bob"); err != nil {
		t.Error(err)
	}
}

func TestBlocked(t *testing.T) {
	client := serve(t, newLimiter(t), byUser)
	_, err := client.List(context.Background(), &healthpb.HealthListRequest{})
	if status.Code(err) != codes.PermissionDenied {
		t.Error(err)
	}
}

func TestStreamAndClientAddress(t *testing.T) {
	client := serve(t, newLimiter(t), byUser)
	watch := func(address string) error {
		ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(context.Background(), "x-forwarded-for", address), time.Minute)
		defer cancel()
		stream, err := client.Watch(ctx, &healthpb.HealthCheckRequest{})
		if err != nil {
			return err
		}
		_, err = stream.Recv()
		return err
	}
	if err := watch("198.51.100.1"); err != nil {
		t.Error(err)
	}
	if err := watch("198.51.100.1"); status.Code(err) != codes.ResourceExhausted {
		t.Error(err)
	}
	if err := watch("198.51.100.2"); err != nil {
		t.Error(err)
	}
}

func TestHooks(t *testing.T) {
	options := byUser
	options.Cost = func(context.Context, string) int64 { return 3 }
	limiter := newLimiter(t)
	header, err := check(serve(t, limiter, options), "user", "a")
	if status.Code(err) != codes.ResourceExhausted || len(status.Convert(err).Details()) != 0 || len(header.Get("retry-after")) != 0 {
		t.Errorf("never fits: %v, %v", header, err)
	}
	options.Denied = func(context.Context, ratel.Decision) error { return status.Error(codes.Aborted, "mine") }
	if _, err := check(serve(t, limiter, options), "user", "a"); status.Code(err) != codes.Aborted {
		t.Error(err)
	}
	options.Cost = func(context.Context, string) int64 { return -1 }
	if _, err := check(serve(t, limiter, options), "user", "a"); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
	options.Skip = func(context.Context, string) bool { return true }
	if _, err := check(serve(t, limiter, options), "user", "a"); err != nil {
		t.Error(err)
	}
	_ = limiter.Close()
	if _, err := check(serve(t, limiter, byUser), "user", "a"); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
}

type brokenStorage struct{}

func (brokenStorage) Apply(context.Context, *ratel.Op) error { return errors.New("no connection") }

func TestStoreTroubleFollowsTheRule(t *testing.T) {
	limiter, err := ratel.New(ratel.FromText("version: 1\ndefault: {name: d, scope: ip, on_store_error: closed, algorithm: token_bucket, limit: 1, window: 1d}", "x"),
		ratel.WithStorage(brokenStorage{}), ratel.WithLog(func(ratel.LogLevel, string) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer limiter.Close()
	if _, err := check(serve(t, limiter, byUser)); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
}
