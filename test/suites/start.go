// Command start measures envtest: from Start() to the first event of a watch, how long each program took from exec to
// healthy, and what their processes have resident then.
//
//	start ROUNDS NAME=ASSETS…    takes them in turns, every other round in reversed order; a line for each start
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "start:", err)
		os.Exit(1)
	}
	return value
}

func freePort() string {
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

// A directory of scripts that note when they start a program.
func stamped(assets, scratch string) string {
	for _, each := range []string{"etcd", "kube-apiserver", "kubectl"} {
		text := fmt.Sprintf("#!/bin/bash\nprintf %%s \"$EPOCHREALTIME\" >'%s/%s.at'\nexec '%s/%s' \"$@\"\n", scratch, each, assets, each)
		must(0, os.WriteFile(filepath.Join(scratch, each), []byte(text), 0o755))
	}
	return scratch
}

// When it was healthy first, asked every millisecond.
func healthy(address string) <-chan time.Time {
	out := make(chan time.Time, 1)
	asking := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	go func() {
		for {
			if answer, err := asking.Get(address); err == nil {
				answer.Body.Close()
				if answer.StatusCode == http.StatusOK {
					out <- time.Now()
					return
				}
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return out
}

func startedAt(scratch, name string) time.Time {
	text := must(os.ReadFile(filepath.Join(scratch, name+".at")))
	seconds := must(strconv.ParseFloat(strings.TrimSpace(string(text)), 64))
	return time.UnixMicro(int64(seconds * 1e6))
}

// What all children have resident, in MiB.
func resident() float64 {
	var kib float64
	for _, each := range must(filepath.Glob("/proc/[0-9]*/status")) {
		text, err := os.ReadFile(each)
		if err != nil || !strings.Contains(string(text), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())) {
			continue
		}
		for _, line := range strings.Split(string(text), "\n") {
			if words := strings.Fields(line); len(words) > 1 && words[0] == "VmRSS:" {
				kib += must(strconv.ParseFloat(words[1], 64))
			}
		}
	}
	return kib / 1024
}

func measure(name, assets string) {
	scratch := must(os.MkdirTemp("", "start"))
	defer os.RemoveAll(scratch)
	environment := &envtest.Environment{BinaryAssetsDirectory: stamped(assets, scratch)}
	must(0, os.Setenv("KUBEBUILDER_ASSETS", environment.BinaryAssetsDirectory))
	server := environment.ControlPlane.GetAPIServer()
	server.SecureServing.Port, server.SecureServing.Address = freePort(), "127.0.0.1"
	serving := healthy("https://127.0.0.1:" + server.SecureServing.Port + "/healthz")
	began := time.Now()
	config := must(environment.Start())
	api := must(client.NewWithWatch(config, client.Options{}))
	stream := must(api.Watch(context.Background(), &core.NamespaceList{}))
	<-stream.ResultChan()
	whole := time.Since(began)
	alone := (<-serving).Sub(startedAt(scratch, "kube-apiserver"))
	fmt.Printf("%s %.1f %.1f %.1f\n", name, whole.Seconds()*1e3, alone.Seconds()*1e3, resident())
	stream.Stop()
	must(0, environment.Stop())
}

func main() {
	rounds := must(strconv.Atoi(os.Args[1]))
	all := os.Args[2:]
	for range rounds {
		for _, each := range all {
			name, assets, _ := strings.Cut(each, "=")
			measure(name, assets)
		}
		slices.Reverse(all)
	}
}
