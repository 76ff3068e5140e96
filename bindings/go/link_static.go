//go:build ratel_static

package ratel

// #cgo pkg-config: --static ratel
// #cgo LDFLAGS: -Wl,--as-needed -Wl,-Bstatic -lratel -lyaml -Wl,-Bdynamic -lstdc++ -lm
import "C"
