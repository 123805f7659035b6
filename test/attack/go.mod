module cotrain.dev/attack

go 1.26.0

require golang.org/x/net v0.56.0

require golang.org/x/text v0.38.0 // indirect

require cotrain.dev/apiclient v0.0.0

replace cotrain.dev/apiclient => ../apiclient
