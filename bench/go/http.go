package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/go-chi/httprate"

	"github.com/ratel/ratel/bindings/go/ratelhttp"
)

func userOf(r *http.Request) string { return r.Header.Get("X-User") }

// middlewares limit by user and send X-RateLimit fields; `none` is the handler alone.
var middlewares = []struct {
	name string
	make func(limit int) func(http.Handler) http.Handler
}{
	{"none", func(int) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler { return next }
	}},
	{"ratelhttp", func(limit int) func(http.Handler) http.Handler {
		return ratelhttp.New(newRatel("token_bucket", limit), ratelhttp.Options{User: userOf})
	}},
	{"go-chi/httprate", func(limit int) func(http.Handler) http.Handler {
		return httprate.LimitBy(limit, window, func(r *http.Request) (string, error) { return userOf(r), nil })
	}},
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello, world\n") })

type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// middleware is a handler behind each of them, without the server around it.
func (told *report) middleware(s settings) {
	var runners []*runner
	for _, one := range middlewares {
		if !s.wants(one.name) {
			continue
		}
		handler := one.make(plenty)(hello)
		request := httptest.NewRequest("GET", "/some/path", nil)
		request.Header.Set("X-User", "alice")
		run := func(_, calls int) {
			for range calls {
				answer := discard{header: http.Header{}}
				if handler.ServeHTTP(&answer, request); answer.status != 0 {
					panic(fmt.Sprint(one.name, " answered ", answer.status))
				}
			}
		}
		runners = append(runners, &runner{row: told.row("middleware", one.name, 1, 1), threads: 1, run: run})
	}
	measure(s, runners)
	told.print("middleware", 1)
	endAll()
}

// client is one kept connection: nothing but the bytes of a request, and the answer read to its end.
type client struct {
	connection net.Conn
	reader     *bufio.Reader
}

func listen() net.Listener { return must(net.Listen("tcp", "127.0.0.1:0")) }

func dial(address string) *client {
	connection := must(net.Dial("tcp", address))
	return &client{connection, bufio.NewReader(connection)}
}

const helloRequest = "GET /some/path HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: bench\r\nX-User: alice\r\n\r\n"

func (c *client) ask() (*http.Response, error) {
	if _, err := io.WriteString(c.connection, helloRequest); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return answer, err
}

// serveHello is the program of a server of its own: it tells its address, and its processor time whenever a line comes in.
func serveHello(name string) {
	for _, one := range middlewares {
		if one.name != name {
			continue
		}
		listener := listen()
		go func() { panic(http.Serve(listener, one.make(plenty)(hello))) }()
		fmt.Println(listener.Addr())
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			var used syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
				panic(err)
			}
			fmt.Println(used.Utime.Nano() + used.Stime.Nano())
		}
	}
}

// server is one that runs beside this program.
type server struct {
	row     *row
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	clients []*client
}

const connections = 8

func startServer(r *row) *server {
	command := exec.Command(must(os.Executable()), "-serve", r.Name)
	command.Stderr = os.Stderr
	in, out := must(command.StdinPipe()), must(command.StdoutPipe())
	if err := command.Start(); err != nil {
		panic(err)
	}
	s := &server{row: r, command: command, in: in, out: bufio.NewReader(out)}
	var address string
	must(fmt.Fscanln(s.out, &address))
	for range connections {
		s.clients = append(s.clients, dial(address))
	}
	return s
}

func (s *server) end() {
	for _, c := range s.clients {
		_ = c.connection.Close()
	}
	_ = s.in.Close()
	_ = s.command.Wait()
}

// processorTime is what the server has used so far, in nanoseconds.
func (s *server) processorTime() (ns float64) {
	must(fmt.Fprintln(s.in))
	must(fmt.Fscanln(s.out, &ns))
	return ns
}

// turn is the server's processor time per request.
func (s *server) turn(requests int) float64 {
	begin := s.processorTime()
	var done sync.WaitGroup
	for _, c := range s.clients {
		done.Add(1)
		go func() {
			defer done.Done()
			for range requests / connections {
				if answer := must(c.ask()); answer.StatusCode != http.StatusOK {
					panic(fmt.Sprint(s.row.Name, " answered ", answer.StatusCode))
				}
			}
		}()
	}
	done.Wait()
	return (s.processorTime() - begin) / float64(requests/connections*connections)
}

// http is the processor time of a server per request of a hello world over kept connections. What a middleware has of it is better seen by
// `middleware`, which is not a difference of two large numbers.
func (told *report) http(s settings) {
	requests := 200 * s.block
	var servers []*server
	for _, one := range middlewares {
		if !s.wants(one.name + " server") {
			continue
		}
		servers = append(servers, startServer(told.row("http", one.name, 1, 1)))
	}
	for _, one := range servers {
		one.turn(requests)
		defer one.end()
	}
	for range s.rounds {
		for _, one := range servers {
			one.row.NS = append(one.row.NS, one.turn(requests))
		}
	}
	told.print("http", 1)
}
