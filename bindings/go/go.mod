module github.com/ratel/ratel/bindings/go

go 1.24
