// Command walk does the same random requests to two API servers and compares what they say and what their watches tell.
//
//	walk SEED OPERATIONS OURS REAL    directories as KUBEBUILDER_ASSETS; the definition is read from widgets.yaml
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

type object = map[string]any

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "walk:", err)
		os.Exit(2)
	}
	return value
}

type server struct {
	environment *envtest.Environment
	base        string
	client      *http.Client
	versions    map[string]string // of objects, by path
	events      map[string]chan object
	watches     []io.Closer
}

func start(assets string) *server {
	must(0, os.Setenv("KUBEBUILDER_ASSETS", assets))
	environment := &envtest.Environment{BinaryAssetsDirectory: assets, CRDDirectoryPaths: []string{"widgets.yaml"}}
	config := must(environment.Start())
	return &server{environment, strings.TrimSuffix(config.Host, "/"), must(rest.HTTPClientFor(config)), map[string]string{}, map[string]chan object{}, nil}
}

func (s *server) ask(method, path, contentType, accept string, body []byte) (int, object) {
	request := must(http.NewRequest(method, s.base+path, bytes.NewReader(body)))
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", "walk/1")
	answer := must(s.client.Do(request))
	defer answer.Body.Close()
	var out object
	must(0, json.Unmarshal(must(io.ReadAll(answer.Body)), &out))
	return answer.StatusCode, out
}

// What happens from now on to a kind's objects.
func (s *server) watch(path string) {
	code, list := s.ask("GET", path, "", "application/json", nil)
	for code != http.StatusOK { // kube-apiserver serves a new kind a moment after it says so
		code, list = s.ask("GET", path, "", "application/json", nil)
	}
	version := list["metadata"].(object)["resourceVersion"].(string)
	answer := must(s.client.Get(s.base + path + "?watch=1&resourceVersion=" + version))
	s.watches = append(s.watches, answer.Body)
	events := make(chan object, 100_000)
	s.events[path] = events
	go func() {
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 1<<22)
		for lines.Scan() {
			var event object
			if json.Unmarshal(lines.Bytes(), &event) == nil {
				events <- event
			}
		}
	}()
}

// A step is the same for both; VERSION in its body is what each has.
type step struct{ method, path, query, contentType, accept, body string }

func (s *server) do(step step) (int, object) {
	key := strings.TrimSuffix(strings.TrimSuffix(step.path, "/status"), "/scale")
	body := strings.ReplaceAll(step.body, "VERSION", s.versions[key])
	code, out := s.ask(step.method, step.path+step.query, step.contentType, step.accept, []byte(body))
	metadata, _ := out["metadata"].(object)
	name, _ := metadata["name"].(string)
	if version, _ := metadata["resourceVersion"].(string); name != "" && version != "" && !strings.Contains(step.query, "dryRun") {
		if step.method == "POST" {
			key += "/" + name
		}
		s.versions[key] = version
	}
	return code, out
}

// Without what is each server's own.
func normal(value any) any {
	switch known := value.(type) {
	case object:
		if known["kind"] == "Status" && known["status"] == "Failure" {
			details, _ := known["details"].(object)
			return object{"reason": known["reason"], "code": known["code"], "name": details["name"], "kind": details["kind"]}
		}
		out := object{}
		for key, each := range known {
			switch key {
			// There may be another page with nothing on it.
			case "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "time", "continue", "remainingItemCount":
			default:
				out[key] = normal(each)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, each := range known {
			out = append(out, normal(each))
		}
		return out
	}
	return value
}

type kind struct{ path, apiVersion, name string }

var kinds = []kind{
	{"/api/v1/namespaces/default/configmaps", "v1", "ConfigMap"},
	{"/apis/example.com/v1/namespaces/default/widgets", "example.com/v1", "Widget"},
	{"/apis/example.com/v1beta1/namespaces/default/widgets", "example.com/v1beta1", "Widget"},
	{"/apis/apps/v1/namespaces/default/controllerrevisions", "apps/v1", "ControllerRevision"},
	{"/apis/coordination.k8s.io/v1/namespaces/default/leases", "coordination.k8s.io/v1", "Lease"},
}

type walker struct {
	*rand.Rand
	names int
}

func (w *walker) word(prefix string, most int) string { return prefix + strconv.Itoa(w.IntN(most)) }

func (w *walker) texts() object {
	out := object{}
	for range w.IntN(3) {
		out[w.word("k", 3)] = w.word("v", 3)
	}
	return out
}

// What a client may want of an object; it need not be valid.
func (w *walker) content(of kind, out object) object {
	metadata := object{}
	if w.IntN(2) == 0 {
		metadata["labels"] = w.texts()
	}
	if w.IntN(4) == 0 {
		metadata["annotations"] = w.texts()
	}
	if w.IntN(10) == 0 {
		metadata["finalizers"] = []any{w.word("example.com/f", 2)}
	}
	out["metadata"] = metadata
	switch of.name {
	case "ConfigMap":
		out["data"] = w.texts()
	case "ControllerRevision":
		out["revision"] = w.IntN(3) + 1
		out["data"] = w.texts()
	case "Lease":
		out["spec"] = object{"holderIdentity": w.word("h", 3), "leaseDurationSeconds": w.IntN(3) + 1}
	case "Widget":
		spec := object{}
		if w.IntN(2) == 0 {
			spec["size"] = w.IntN(12)
		}
		if w.IntN(2) == 0 {
			spec["colour"] = []string{"red", "blue", "green"}[w.IntN(3)]
		}
		if w.IntN(6) == 0 {
			spec["unknown"] = w.word("u", 2)
		}
		if w.IntN(3) == 0 {
			spec["parts"] = []any{object{"name": w.word("p", 2), "count": w.IntN(3)}, object{"name": w.word("q", 2)}}
		}
		out["spec"] = spec
	}
	return out
}

func text(value any) string { return string(must(json.Marshal(value))) }

func (w *walker) next() step {
	of := kinds[w.IntN(len(kinds))]
	name := w.word("o", w.names)
	whole := func() object { return w.content(of, object{"apiVersion": of.apiVersion, "kind": of.name}) }
	out := step{path: of.path + "/" + name, contentType: "application/json", accept: "application/json"}
	named := func(value object, version bool) string {
		value["metadata"].(object)["name"] = name
		if version {
			value["metadata"].(object)["resourceVersion"] = "VERSION"
		}
		return text(value)
	}
	if of.name == "Widget" && w.IntN(5) == 0 {
		out.path += "/status"
	}
	switch w.IntN(14) {
	case 0, 1, 2:
		out.method, out.path, out.body = "POST", of.path, named(whole(), false)
		if w.IntN(8) == 0 {
			out.query = []string{"?dryRun=All", "?fieldValidation=Strict", "?fieldManager=m"}[w.IntN(3)]
		}
	case 3, 4:
		out.method, out.body = "PUT", named(whole(), w.IntN(4) != 0)
	case 5:
		out.method, out.contentType, out.body = "PATCH", "application/merge-patch+json", text(w.content(of, object{}))
	case 6:
		if of.name == "Lease" { // what is not there is patched nevertheless, and found to be wrong
			return w.next()
		}
		out.method, out.contentType = "PATCH", "application/json-patch+json"
		out.body = text([]any{object{"op": []string{"add", "remove", "replace", "test"}[w.IntN(4)],
			"path": "/metadata/labels/" + w.word("k", 3), "value": w.word("v", 2)}})
	case 7:
		out.method, out.contentType, out.body = "PATCH", "application/strategic-merge-patch+json", text(w.content(of, object{}))
	case 8, 9:
		out.method, out.contentType, out.body = "PATCH", "application/apply-patch+yaml", named(whole(), false)
		out.query = "?fieldManager=" + w.word("m", 2) + []string{"", "&force=true"}[w.IntN(2)]
	case 10:
		out.method, out.path = "DELETE", of.path+"/"+name
		out.query = []string{"", "", "?propagationPolicy=Background", "?dryRun=All"}[w.IntN(4)]
	case 11:
		out.method, out.accept = "GET", []string{"application/json", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"}[w.IntN(2)]
	case 12:
		out.method, out.path = "GET", of.path
		out.query = []string{"", "?labelSelector=k0%3Dv0", "?labelSelector=k0+in+(v0,v1),!k2", "?fieldSelector=metadata.name%3Do1", "?limit=2", "?labelSelector=k1&limit=1"}[w.IntN(6)]
	case 13:
		if w.IntN(4) == 0 {
			out.method, out.path, out.query = "DELETE", of.path, "?labelSelector="+w.word("k", 3)+"%3D"+w.word("v", 3)
		} else if of.name == "Widget" {
			out.method, out.path = []string{"GET", "PUT"}[w.IntN(2)], of.path+"/"+name+"/scale"
			out.body = text(object{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": object{"name": name, "namespace": "default"}, "spec": object{"replicas": w.IntN(5)}})
			if out.method == "GET" {
				out.body = ""
			}
		} else {
			out.method, out.path = "GET", of.path+"?limit=1"
		}
	}
	return out
}

func compare(all []*server, step step, differences *int) {
	var codes [2]int
	var said [2]any
	for i, each := range all {
		code, out := each.do(step)
		// The pages that follow.
		for next, _ := out["metadata"].(object); next != nil && next["continue"] != nil && next["continue"] != "" && step.method == "GET"; {
			var more object
			path := step.path + step.query
			_, more = each.ask("GET", path+"&continue="+next["continue"].(string), "", step.accept, nil)
			items, _ := out["items"].([]any)
			others, _ := more["items"].([]any)
			out["items"] = append(items, others...)
			next, _ = more["metadata"].(object)
		}
		codes[i], said[i] = code, normal(out)
	}
	if codes[0] == codes[1] && reflect.DeepEqual(said[0], said[1]) {
		return
	}
	*differences++
	if *differences <= 20 {
		fmt.Printf("%s %s%s %s\n  %s\n  ours %d %s\n  real %d %s\n", step.method, step.path, step.query, step.contentType, step.body,
			codes[0], text(said[0]), codes[1], text(said[1]))
	}
}

// Both have told the same; what is not there yet may take a moment.
func compareEvents(all []*server, path string, differences *int) {
	for count := 0; ; count++ {
		var told [2]any
		for i, each := range all {
			select {
			case event := <-each.events[path]:
				told[i] = normal(event)
			case <-time.After(3 * time.Second):
			}
		}
		if !reflect.DeepEqual(told[0], told[1]) {
			*differences++
			fmt.Printf("watch of %s, event %d:\n  ours %s\n  real %s\n", path, count, text(told[0]), text(told[1]))
			return
		}
		if told[0] == nil {
			return
		}
	}
}

func main() {
	seed, operations := must(strconv.ParseUint(os.Args[1], 10, 64)), must(strconv.Atoi(os.Args[2]))
	all := []*server{start(os.Args[3]), start(os.Args[4])}
	for _, each := range all {
		for _, of := range kinds {
			each.watch(of.path)
		}
	}
	w := &walker{rand.New(rand.NewPCG(seed, 0)), 4}
	differences := 0
	for range operations {
		compare(all, w.next(), &differences)
	}
	for _, of := range kinds {
		compareEvents(all, of.path, &differences)
	}
	fmt.Printf("walk: seed %d, %d operations, %d differences\n", seed, operations, differences)
	for _, each := range all {
		for _, watch := range each.watches {
			watch.Close()
		}
		must(0, each.environment.Stop())
	}
	if differences > 0 {
		os.Exit(1)
	}
}
