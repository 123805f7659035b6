module cotrain.dev/apiclient

go 1.26.0
