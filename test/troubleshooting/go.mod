module cotrain.dev/troubleshooting

go 1.26.0

require cotrain.dev/apiclient v0.0.0

replace cotrain.dev/apiclient => ../apiclient
