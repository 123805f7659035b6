// Command wiretypes writes src/sim/protobuf_types.inc: how the built-in kinds look as protobuf, read from the tags of
// Kubernetes' own Go types. A line for each message, its fields as name,number,shape; then "kinds" and a line for each kind.
//
//	cd test/controlplane && go run ./cmd/wiretypes >../../src/sim/protobuf_types.inc
package main

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

var versions = []string{
	"v1", "admissionregistration.k8s.io/v1", "apps/v1", "authentication.k8s.io/v1", "authorization.k8s.io/v1",
	"autoscaling/v1", "autoscaling/v2", "batch/v1", "certificates.k8s.io/v1", "coordination.k8s.io/v1", "discovery.k8s.io/v1",
	"events.k8s.io/v1", "networking.k8s.io/v1", "node.k8s.io/v1", "policy/v1", "rbac.authorization.k8s.io/v1",
	"resource.k8s.io/v1", "scheduling.k8s.io/v1", "storage.k8s.io/v1",
}

// Messages whose JSON is something else than an object.
var special = map[string]string{
	"v1.Time": "T", "v1.MicroTime": "U", "resource.Quantity": "Q", "intstr.IntOrString": "I", "v1.FieldsV1": "R",
	"runtime.RawExtension": "R", "v1.ExtraValue": "X",
}

var (
	index    = map[reflect.Type]int{}
	messages []string
)

func shapeOf(t reflect.Type) string {
	if known, is := special[t.String()]; is {
		return known
	}
	switch t.Kind() {
	case reflect.Pointer:
		return shapeOf(t.Elem())
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "t"
	case reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64, reflect.Int:
		return "i"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "b"
		}
		return "[" + shapeOf(t.Elem())
	case reflect.Map:
		return "{" + shapeOf(t.Elem())
	case reflect.Struct:
		return fmt.Sprint(messageOf(t))
	}
	panic("no shape for " + t.String())
}

func messageOf(t reflect.Type) int {
	if known, is := index[t]; is {
		return known
	}
	at := len(messages)
	index[t] = at
	messages = append(messages, "")
	var fields []string
	for i := range t.NumField() {
		field := t.Field(i)
		wire := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(wire) < 2 {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		shape := shapeOf(field.Type)
		// What is always on the wire, and left out of JSON where it is empty.
		scalar := strings.Contains("stbi", shape)
		if scalar && field.Type.Kind() != reflect.Pointer && strings.Contains(options, "omit") {
			shape = "?" + shape
		}
		fields = append(fields, name+","+wire[1]+","+shape)
	}
	messages[at] = strings.Join(fields, ";")
	return at
}

func main() {
	var kinds []string
	for _, each := range versions {
		version, err := schema.ParseGroupVersion(each)
		if err != nil {
			panic(err)
		}
		types := scheme.Scheme.KnownTypes(version)
		for _, name := range slices.Sorted(maps.Keys(types)) {
			if _, is := reflect.New(types[name]).Interface().(metav1.Object); is {
				kinds = append(kinds, fmt.Sprintf("%s %s %d", each, name, messageOf(types[name])))
			}
		}
	}
	kinds = append(kinds, fmt.Sprintf("- DeleteOptions %d", messageOf(reflect.TypeFor[metav1.DeleteOptions]())))
	fmt.Fprintln(os.Stdout, `R"types(`+strings.Join(messages, "\n")+"\nkinds\n"+strings.Join(kinds, "\n")+`)types"`)
}
