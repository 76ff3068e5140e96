// A server that answers three times an hour: the shortest use of ratel. Try: curl -i 127.0.0.1:8080/
package main

import (
	"fmt"
	"log"
	"net/http"

	ratel "github.com/ratel/ratel/bindings/go"
	"github.com/ratel/ratel/bindings/go/ratelhttp"
)

const rules = `
version: 1
default: {name: everyone, scope: ip, algorithm: token_bucket, limit: 3, window: 1h}
`

func main() {
	limiter, err := ratel.New(ratel.FromText(rules, "rules"))
	if err != nil {
		log.Fatal(err)
	}
	defer limiter.Close()
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	log.Println("listening on 127.0.0.1:8080")
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", ratelhttp.New(limiter, ratelhttp.Options{})(hello)))
}
