// What a user sees of a TrainJob, without what differs from run to run.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
)

type record struct {
	Answer     string   `json:"answer,omitempty"` // kubectl's, where it refuses or warns
	Refused    bool     `json:"refused,omitempty"`
	Get        string   `json:"get,omitempty"`
	State      string   `json:"state,omitempty"`
	Message    string   `json:"message,omitempty"`
	Failures   []string `json:"failures,omitempty"`
	Conditions []string `json:"conditions,omitempty"`
	Events     []string `json:"events,omitempty"`
	Log        []string `json:"log,omitempty"`
	Metrics    []string `json:"metrics,omitempty"`
	Explain    string   `json:"explain,omitempty"`
}

// shown is what get and describe say, or what kubectl answers where it refuses; a warning is soon forgotten.
func (r *record) shown(warns bool) string {
	parts := []string{r.Get, r.Message}
	if r.Refused || warns {
		parts = append(parts, r.Answer)
	}
	for _, list := range [][]string{r.Failures, r.Conditions, r.Events} {
		parts = append(parts, list...)
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "\n")
}

func encode(what any) string {
	out, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func decode(text string) object {
	var out object
	_ = json.Unmarshal([]byte(text), &out)
	return out
}

func fetch(url string) (string, error) {
	answer, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

// What differs from run to run, and what stands for it.
var passing = []struct{ what, instead string }{
	{`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`, "UID"},
	{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "TIME"},
	{`(train-[a-z]+-\d-\d)-[bcdfghjklmnpqrstvwxz2456789]{5}\b`, "$1-xxxxx"},
	{`\bworker-\d\b`, "worker-1"}, // the scheduler has its choice
	{`127\.0\.0\.1:\d+`, "127.0.0.1:443"},
	{`sha256:[0-9a-f]{64}`, "sha256:HASH"},
	{`(after|for|in|took) \d+(\.\d+)?(ms|s)\b`, "$1 N s"},
	{`\?timeout=\d+s`, ""},
}

// clean takes out what differs from run to run; the namespace is that of the mishap.
func clean(ns, text string) string {
	for _, each := range passing {
		text = regexp.MustCompile(each.what).ReplaceAllString(text, each.instead)
	}
	return strings.TrimSpace(strings.ReplaceAll(text, "error when creating \"STDIN\": ", ""))
}

// look is what there is to see now, but for what takes a program of its own.
func (s *stage) look(answer string) *record {
	seen := &record{}
	// kubectl says that it created the TrainJob; what else it says is a warning.
	for line := range strings.Lines(answer) {
		if !strings.HasSuffix(strings.TrimSpace(line), " created") {
			seen.Answer += clean(s.ns, line) + "\n"
		}
	}
	seen.Answer = strings.TrimSpace(seen.Answer)
	job, err := s.on.Get(trainerAPI + "/namespaces/" + s.ns + "/trainjobs/" + s.jobName())
	if err != nil {
		return seen
	}
	seen.Message = clean(s.ns, textAt(job, "status", "message"))
	seen.State = textAt(job, "status", "state")
	for _, each := range listAt(job, "status", "conditions") {
		seen.Conditions = append(seen.Conditions, clean(s.ns, fmt.Sprintf("%s=%s %s: %s", textAt(each, "type"),
			textAt(each, "status"), textAt(each, "reason"), textAt(each, "message"))))
	}
	for _, each := range listAt(job, "status", "failures") {
		seen.Failures = append(seen.Failures, clean(s.ns, members(each)))
	}
	events, _ := s.on.Items("/apis/events.k8s.io/v1/namespaces/" + s.ns + "/events")
	for _, each := range events {
		if textAt(each, "regarding", "kind") == "TrainJob" {
			seen.Events = append(seen.Events, clean(s.ns, fmt.Sprintf("%s %s: %s", textAt(each, "type"), textAt(each, "reason"), textAt(each, "note"))))
		}
	}
	slices.Sort(seen.Events)
	seen.Events = slices.Compact(seen.Events)
	if s.operator != nil {
		seen.Log = logged(s.ns, s.operator.lines(s.ns))
	}
	return seen
}

func (s *stage) jobName() string {
	if found := regexp.MustCompile(`(?m)kind: TrainJob\nmetadata: \{name: ([-a-z0-9]+)`).FindStringSubmatch(s.job); found != nil {
		return found[1]
	}
	return jobName
}

// members are the fields of an object in the order of their names, as describe has them.
func members(value any) string {
	fields, _ := value.(object)
	var out []string
	for name, each := range fields {
		text := encode(each)
		if plain, is := each.(string); is {
			text = plain
		}
		out = append(out, name+": "+text)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// logged are the lines that differ in more than time.
func logged(ns string, lines []object) []string {
	var out []string
	for _, line := range lines {
		text := textAt(line, "level") + ": " + textAt(line, "msg")
		for _, field := range []string{"reason", "message", "error"} {
			// What a restart waits for first depends on the moment.
			if more := textAt(line, field); more != "" && textAt(line, "msg") != "TrainJob restarts" {
				text += ": " + more
			}
		}
		out = append(out, clean(ns, text))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// complete adds what takes a program of its own: kubectl's table, our explanation, the metrics.
func (s *stage) complete(seen *record) {
	table, good := kubectl("", "-n", s.ns, "get", "trainjob", s.jobName())
	if !good {
		return
	}
	seen.Get = clean(s.ns, withoutAge(table))
	if s.operator == nil {
		seen.State = columnOf(table, "STATE")
		return
	}
	if text, err := s.operator.scrape(); err == nil {
		seen.Metrics = metricsOf(text, s.ns, seen.Failures)
	}
	if text, good := program(s.operator.binary, "", "explain", "trainjob", s.jobName(), "-n", s.ns, "--kubeconfig", os.Getenv("COTRAIN_TEST_KUBECONFIG")); good {
		seen.Explain = clean(s.ns, explained(text))
	}
}

// cell cuts a column out of kubectl's table, which is laid out by spaces.
func cell(line string, from, to int) string {
	if from >= len(line) {
		return ""
	}
	return line[from:min(to, len(line))]
}

func columnOf(table, name string) string {
	lines := strings.Split(table, "\n")
	from := strings.Index(lines[0], name)
	if from < 0 || len(lines) < 2 {
		return ""
	}
	to := from + len(name)
	for to < len(lines[0]) && lines[0][to] == ' ' {
		to++
	}
	if to >= len(lines[0]) {
		to = len(lines[1])
	}
	return strings.TrimSpace(cell(lines[1], from, to))
}

func withoutAge(table string) string {
	lines := strings.Split(table, "\n")
	at := strings.Index(lines[0], "AGE")
	if at < 0 {
		return table
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(cell(line, 0, at), " ")
	}
	return strings.Join(lines, "\n")
}

// metricsOf are those that count this TrainJob, and its failures by their reasons.
func metricsOf(text, ns string, failures []string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, fmt.Sprintf(`cotrain_trainjobs{namespace=%q`, ns)) && !strings.HasSuffix(line, " 0") {
			out = append(out, line)
		}
		name, _, _ := strings.Cut(line, " ")
		for _, each := range failures {
			reason := regexp.MustCompile(`reason: (\w+)`).FindStringSubmatch(each)
			if reason != nil && name == fmt.Sprintf(`cotrain_trainjob_pod_failures_total{reason=%q}`, reason[1]) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// explained is what `cotrain explain` says before it lists managers and fields.
func explained(text string) string {
	head, _, _ := strings.Cut(text, "managers of the JobSet:")
	return head
}
