//go:build !ratel_static

package ratel

// #cgo pkg-config: ratel
import "C"
