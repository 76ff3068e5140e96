module github.com/ratel/ratel/bindings/go/ratelgrpc

go 1.24

require (
	github.com/ratel/ratel/bindings/go v1.0.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250324211829-b45e905df463
	google.golang.org/grpc v1.73.0
	google.golang.org/protobuf v1.36.6
)

require (
	golang.org/x/net v0.38.0 // indirect
	golang.org/x/sys v0.31.0 // indirect
	golang.org/x/text v0.23.0 // indirect
)

replace github.com/ratel/ratel/bindings/go => ../
