module github.com/ratel/ratel/examples/gateway/go

go 1.24

require github.com/ratel/ratel/bindings/go v1.0.0

replace github.com/ratel/ratel/bindings/go => ../../../bindings/go
