// Package redistest starts redis-servers for tests.
package redistest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// URL starts a redis-server on a socket in a temporary folder, for this test alone. Without one the test is skipped.
func URL(t testing.TB) string {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed")
	}
	folder, err := os.MkdirTemp("", "ratel-")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(folder, "s")
	server := exec.Command(program, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		_ = os.RemoveAll(folder)
	})
	for range 1000 {
		if connection, err := net.Dial("unix", socket); err == nil {
			_ = connection.Close()
			return "unix://" + socket + "?deadline_ms=20000"
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("redis-server does not answer")
	return ""
}
