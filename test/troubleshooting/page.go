// docs/troubleshooting.md: what is between its markers is made of the records.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	pageBegin = "<!-- from here on made by test/troubleshooting/run.sh -->"
	pageEnd   = "<!-- until here -->"
)

var symptoms = []symptom{refused, blocked, suspended, failed, everyone}

func (p *player) page() string { return filepath.Join(p.top, "docs", "troubleshooting.md") }
func (p *player) ofReference() string {
	return filepath.Join(p.top, "test", "troubleshooting", "reference.json")
}

// keepReference writes what the reference says into the tree: it is recorded once for each of its versions.
func (p *player) keepReference(all bool) error {
	kept := map[string]*record{}
	if text, err := os.ReadFile(p.ofReference()); err == nil && !all {
		if err := json.Unmarshal(text, &kept); err != nil {
			return err
		}
	}
	for name, seen := range p.seen {
		kept[name] = seen
	}
	text, err := json.MarshalIndent(kept, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(p.ofReference(), append(text, '\n'), 0o644)
}

// writePage replaces what is between the markers, or says where it differs.
func (p *player) writePage(all, check bool) error {
	if !all {
		fmt.Println("not all mishaps were played: docs/troubleshooting.md stays as it is")
		return nil
	}
	reference := map[string]*record{}
	text, err := os.ReadFile(p.ofReference())
	if err == nil {
		err = json.Unmarshal(text, &reference)
	}
	if err != nil {
		return err
	}
	page, err := os.ReadFile(p.page())
	if err != nil {
		return err
	}
	head, rest, found := strings.Cut(string(page), pageBegin)
	_, tail, ends := strings.Cut(rest, pageEnd)
	if !found || !ends {
		return fmt.Errorf("%s has no markers", p.page())
	}
	made := head + pageBegin + "\n\n" + written(p.seen, reference) + "\n" + pageEnd + tail
	if made == string(page) {
		return nil
	}
	if !check {
		return os.WriteFile(p.page(), []byte(made), 0o644)
	}
	path := filepath.Join(os.Getenv("COTRAIN_TEST_DIR"), "troubleshooting.md")
	if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
		return err
	}
	difference, _ := program("diff", "", "-u", p.page(), path)
	return fmt.Errorf("docs/troubleshooting.md is not what this run shows; run test/troubleshooting/run.sh to write it:\n%s", difference)
}

func written(seen, reference map[string]*record) string {
	var out strings.Builder
	out.WriteString("## By what you see\n\n| STATE | what it says | cause |\n|---|---|---|\n")
	for _, m := range mishaps() {
		if r := seen[m.name]; r != nil {
			fmt.Fprintf(&out, "| %s | %s | [%s](#%s) |\n", first(m, r), plain(short(headline(r))), m.title, m.name)
		}
	}
	for _, each := range symptoms {
		fmt.Fprintf(&out, "\n## %s\n", each)
		for _, m := range mishaps() {
			if r := seen[m.name]; r != nil && m.symptom == each {
				out.WriteString(section(m, r, reference[m.name]))
			}
		}
	}
	return strings.TrimSpace(out.String()) + "\n"
}

// writeAgain makes the page of what the last run recorded.
func (p *player) writeAgain() error {
	for _, m := range mishaps() {
		text, err := os.ReadFile(filepath.Join(os.Getenv("COTRAIN_TEST_DIR"), m.name+".json"))
		if err != nil {
			return err
		}
		p.seen[m.name] = &record{}
		if err := json.Unmarshal(text, p.seen[m.name]); err != nil {
			return err
		}
	}
	return p.writePage(true, false)
}

// first is the state that get shows, or that there is none.
func first(m mishap, r *record) string {
	if r.Refused {
		return "refused"
	}
	return r.State
}

// How a refusal begins that says nothing of its cause, and the value that is refused, which may be long.
var (
	preamble = regexp.MustCompile(`^Error from server \([A-Za-z]+\): (admission webhook "[^"]*" denied the request: )?`)
	value    = regexp.MustCompile(`Invalid value: [\[{].*[\]}]: `)
)

func headline(r *record) string {
	if r.Refused || r.Message == "" {
		return value.ReplaceAllString(preamble.ReplaceAllString(r.Answer, ""), "")
	}
	if r.State == "Starting" {
		return r.Answer
	}
	return r.Message
}

const headlineMax = 160

func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > headlineMax {
		return strings.TrimSpace(string(runes[:headlineMax])) + " …"
	}
	return text
}

// plain is a text that Markdown and HTML leave alone, in a cell of a table.
func plain(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`, "\n", "<br>").Replace(text)
}

func section(m mishap, r, there *record) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n<a id=\"%s\"></a>\n### %s\n", m.name, m.title)
	if r.Get != "" {
		fmt.Fprintf(&out, "\n```\n$ kubectl get trainjob\n%s\n```\n", r.Get)
	}
	out.WriteString("\n| where | what it says |\n|---|---|\n")
	row := func(where, what string) {
		if what != "" {
			fmt.Fprintf(&out, "| %s | %s |\n", where, what)
		}
	}
	row("kubectl create", plain(r.Answer))
	row("message", plain(r.Message))
	row("describe: conditions", joined(r.Conditions))
	row("describe: failures", joined(r.Failures))
	row("describe: events", joined(r.Events))
	row("operator's log", joined(r.Log))
	row("metrics", codes(r.Metrics))
	row("`cotrain explain`", plain(notSaid(r.Explain)))
	row("Kubeflow Trainer v2.3.0", beside(there))
	row("**what to do**", m.todo)
	return out.String()
}

// notSaid is what an explanation adds to state, message, conditions and failures, which it repeats.
func notSaid(explanation string) string {
	if explanation == "" {
		return ""
	}
	var runtime string
	var children []string
	section := ""
	for line := range strings.Lines(explanation) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, " ") {
			section, _, _ = strings.Cut(line, ":")
			if section == "runtime" {
				_, runtime, _ = strings.Cut(line, ":")
			}
		} else if section == "children" {
			children = append(children, strings.TrimSpace(line))
		}
	}
	return "the same, and runtime: " + strings.TrimSpace(runtime) + "; children: " + strings.Join(children, ", ")
}

func joined(lines []string) string {
	var out []string
	for _, line := range lines {
		out = append(out, plain(line))
	}
	return strings.Join(out, "<br>")
}

func codes(lines []string) string {
	var out []string
	for _, line := range lines {
		out = append(out, "`"+line+"`")
	}
	return strings.Join(out, "<br>")
}

// beside is what the reference shows of the same.
func beside(r *record) string {
	switch {
	case r == nil:
		return ""
	case r.Refused:
		return "refuses: " + plain(r.Answer)
	}
	if r.Get == "" {
		return "takes it, and says nothing"
	}
	parts := []string{"STATE empty"}
	if r.State != "" {
		parts[0] = "STATE " + r.State
	}
	if r.Answer != "" {
		parts = append([]string{plain(r.Answer)}, parts...)
	}
	if len(r.Conditions) == 0 {
		parts = append(parts, "no condition")
	}
	if len(r.Events) == 0 {
		parts = append(parts, "no event")
	}
	return strings.Join(slices.Concat(parts, cells(r.Conditions), cells(r.Events)), "; ")
}

func cells(lines []string) []string {
	var out []string
	for _, line := range lines {
		out = append(out, plain(line))
	}
	return out
}
