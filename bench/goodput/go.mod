module github.com/steadyhttp/steady/bench/goodput

go 1.26.0

require (
	github.com/PuerkitoBio/rehttp v1.4.0
	github.com/aws/aws-sdk-go-v2 v1.48.0
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/hashicorp/go-retryablehttp v0.7.8
	github.com/openai/openai-go/v3 v3.99.0
	github.com/sony/gobreaker/v2 v2.4.0
	github.com/steadyhttp/steady v0.0.0
	github.com/wcharczuk/go-chart/v2 v2.1.2
	go.uber.org/goleak v1.3.0
	golang.org/x/time v0.16.0
)

require (
	github.com/aws/smithy-go v1.28.9 // indirect
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
	github.com/coder/websocket v1.8.15 // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/influxdata/tdigest v0.0.1 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	golang.org/x/image v0.18.0 // indirect
)

replace github.com/steadyhttp/steady => ../..
