module cotrain.dev/troubleshooting

go 1.26.0
