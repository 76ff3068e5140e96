// gateway: an HTTP server, or a reverse proxy, with Ratel in front. docs/gateway.md tells its story.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	ratel "github.com/ratel/ratel/bindings/go"
)

const usage = `usage: gateway --rules FILE [--listen HOST:PORT] [--upstream http://HOST:PORT] [--watch-ms N]
               [--redis URL] [--idempotency-header NAME]

  --rules FILE     rule file or folder; read again when it changes
  --listen         where to listen (127.0.0.1:0, a free port); the port is printed
  --upstream       the server to pass requests on to; without it the gateway answers by itself
  --watch-ms N     how often to look at the rules, in milliseconds (1000)
  --redis URL      where the counts are, shared by all gateways with the same RATEL_SECRET in their environment
  --idempotency-header NAME
                   a request that comes again with the same value is not charged again
`

type options struct {
	rules, listen string
	upstream      *url.URL // nil: the gateway answers by itself
	watch         time.Duration
	redis         string // URL; empty: counts are in this process
	secret        string // with redis
	idempotency   string // a header's name
}

func parseOptions(arguments []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("gateway", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(flags.Output(), usage) }
	flags.StringVar(&o.rules, "rules", "", "")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "")
	upstream := flags.String("upstream", "", "")
	flags.StringVar(&o.redis, "redis", "", "")
	flags.StringVar(&o.idempotency, "idempotency-header", "", "")
	milliseconds := flags.Uint("watch-ms", 1000, "")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	if o.rules == "" || flags.NArg() > 0 {
		return o, errors.New("see gateway --help")
	}
	o.secret = os.Getenv("RATEL_SECRET")
	if o.redis != "" && o.secret == "" {
		return o, errors.New("--redis needs RATEL_SECRET in the environment, 16 to 1024 bytes, the same for all gateways")
	}
	o.watch = time.Duration(*milliseconds) * time.Millisecond
	if *upstream == "" {
		return o, nil
	}
	target, err := url.Parse(*upstream)
	if err != nil || target.Scheme != "http" || target.Port() == "" || target.Path != "" {
		return o, errors.New("--upstream is http://HOST:PORT")
	}
	o.upstream = target
	return o, nil
}

func openLimiter(o options) (*ratel.Limiter, error) {
	names := map[ratel.LogLevel]string{ratel.LogError: "error", ratel.LogWarning: "warning", ratel.LogInfo: "info"}
	settings := []ratel.Option{ratel.WithLog(func(level ratel.LogLevel, text string) {
		fmt.Fprintf(os.Stderr, "%s: %s\n", names[level], text)
	})}
	if o.redis != "" {
		settings = append(settings, ratel.WithRedis(o.redis), ratel.WithSecret(o.secret))
	}
	limiter, err := ratel.New(ratel.FromFile(o.rules), settings...)
	if err != nil {
		return nil, err
	}
	if err := limiter.Watch(o.rules, o.watch); err != nil {
		_ = limiter.Close()
		return nil, err
	}
	return limiter, nil
}

// run serves until a signal ends it; requests under way are answered first.
func run(arguments []string) error {
	o, err := parseOptions(arguments)
	if err != nil {
		return err
	}
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	limiter, err := openLimiter(o)
	if err != nil {
		return err
	}
	defer limiter.Close()
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", o.listen, err)
	}
	server := &http.Server{
		Handler:                      newGateway(limiter, o.upstream, o.idempotency),
		ReadHeaderTimeout:            10 * time.Second,
		DisableGeneralOptionsHandler: true,
	}
	fmt.Printf("listening on %s\n", listener.Addr())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ended.Done():
	}
	err = server.Shutdown(context.Background())
	fmt.Println("stopped")
	return err
}

func main() {
	err := run(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "gateway: %v\n", err)
		os.Exit(2)
	}
}
