package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strings"
)

type object = map[string]any

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func decode(text []byte) object {
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		panic(err)
	}
	return o
}

func errorsOf(all ...error) error { return errors.Join(all...) }

// Without what means nothing, lists of named things as maps.
func plain(v any, name string) any {
	switch t := v.(type) {
	case map[string]any:
		out := object{}
		for key, value := range t {
			if p := plain(value, key); p != nil {
				out[key] = p
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		return plainList(t, name)
	case string:
		if t == "" {
			return nil
		}
	}
	return v
}

func plainList(list []any, name string) any {
	if len(list) == 0 {
		return nil
	}
	key := map[string]string{"env": "name", "volumes": "name", "volumeMounts": "mountPath"}[name]
	named := object{}
	var out []any
	for _, item := range list {
		p := plain(item, "")
		if o, is := p.(object); is && key != "" {
			named[fmt.Sprint(o[key])] = p
		}
		out = append(out, p)
	}
	if key != "" {
		return named
	}
	return out
}

// Of Flux's scripts, which are written in other words, what they do.
var told = regexp.MustCompile(`flags="[^"]*"|flux R encode [^>]*|hosts="[^"]*"|default_\w+ = .*|queue-policy.*|\{ host=.*`)

var blanks = regexp.MustCompile(` +("|$)`)

func facts(script any) string {
	lines := told.FindAllString(fmt.Sprint(script), -1)
	for i, line := range lines {
		lines[i] = blanks.ReplaceAllString(line, "$1")
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// The objects by kind and name, with what docs/differences.md says on every pair taken out.
func known(all []object) object {
	out := object{}
	for _, raw := range all {
		name := fmt.Sprint(raw["kind"], " ", raw["metadata"].(map[string]any)["name"])
		if raw["kind"] == "Secret" || strings.HasSuffix(name, "-runtime-snapshot") {
			continue // keys are random; the snapshot goes through an API there
		}
		o, _ := plain(raw, "").(object)
		delete(o["metadata"].(object), "ownerReferences")
		delete(o["metadata"].(object), "namespace")
		spec, _ := o["spec"].(object)
		if raw["kind"] == "PodGroup" && fmt.Sprint(spec["minMember"]) == "0" {
			continue // 16: not made here
		}
		if strings.HasSuffix(name, "-flux-entrypoint") {
			for script, text := range o["data"].(object) {
				o["data"].(object)[script] = facts(text)
			}
		}
		withoutPRRTE(o)
		out[name] = o
	}
	return out
}

// 28: Open MPI 5's variables.
func withoutPRRTE(v any) {
	switch t := v.(type) {
	case object:
		for key, value := range t {
			if strings.HasPrefix(key, "PRTE_MCA_") {
				delete(t, key)
			}
			withoutPRRTE(value)
		}
	case []any:
		for _, item := range t {
			withoutPRRTE(item)
		}
	}
}

// The first difference, or nothing.
func difference(path string, a, b any) string {
	switch x := a.(type) {
	case object:
		y, is := b.(object)
		if !is {
			break
		}
		keys := []string{}
		for key := range x {
			keys = append(keys, key)
		}
		for key := range y {
			if _, both := x[key]; !both {
				keys = append(keys, key)
			}
		}
		sort.Strings(keys)
		for _, key := range keys {
			if d := difference(path+"/"+key, x[key], y[key]); d != "" {
				return d
			}
		}
		return ""
	case []any:
		y, is := b.([]any)
		if !is || len(x) != len(y) {
			break
		}
		for i := range x {
			if d := difference(fmt.Sprint(path, "/", i), x[i], y[i]); d != "" {
				return d
			}
		}
		return ""
	}
	if string(encode(a)) == string(encode(b)) {
		return ""
	}
	return fmt.Sprintf("%s there: %.300s, here: %.300s", path, encode(a), encode(b))
}
