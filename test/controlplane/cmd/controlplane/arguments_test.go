// Tests that bad arguments give one line and exit code 2, before anything runs.
package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBadArguments(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", "")
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "precious"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	dir := func() string { return filepath.Join(t.TempDir(), "d") }
	cases := []struct {
		arguments   string
		explanation string
	}{
		{"dance", `no command "dance"`},
		{"up", "--dir DIR"},
		{"up --dir x y", `"y" is one too many`},
		{"up --nonsense", "-nonsense"},
		{"up --dir x --with volcano", "kcm, scheduler, jobset, reference"},
		{"up --dir x --port 70000", "--port 70000"},
		{"up --dir x --port many", "many"},
		{"up --dir x --timeout 0", "--timeout 0"},
		{"up --dir x --address localhost", "--address localhost"},
		{"up --dir x --arg apiserver", "NAME=FLAG"},
		{"up --dir x --arg kcm=--v=4", "--with kcm"},
		{"up --dir x --config jobset=featureGates:", "--with NAME"},
		{"up --dir x --with kcm --config kcm=v:", "NAME jobset or reference"},
		{"up --dir " + full, "not empty"},
		{"up --dir /proc/nowhere", "/proc/nowhere"},
		{"up --dir " + dir() + " --port " + port, "port " + port},
		{"up --dir " + dir() + " --address 192.0.2.1", "192.0.2.1"},
		{"up --dir " + dir() + " --crds /nowhere.yaml", "/nowhere.yaml"},
		{"up --dir " + dir() + " --bin /nowhere", "build.sh"},
		{"up --dir " + dir() + " --with jobset --bin " + full, "etcd: not in"},
		{"exec", "which command"},
		{"exec --lifeline-stdin -- true", "--lifeline-stdin"},
		{"exec -- /nowhere/command", "/nowhere/command"},
		{"ctl", "which command"},
		{"ctl status", "COTRAIN_TEST_CONTROL"},
	}
	for _, c := range cases {
		launch(t, strings.Fields(c.arguments)...).fails(2, c.explanation)
	}
	if text, err := os.ReadFile(filepath.Join(full, "precious")); err != nil || string(text) != "x" {
		t.Errorf("a file of somebody else: %q %v", text, err)
	}
}

func TestHelpNamesEveryExtraAndCommand(t *testing.T) {
	l := launch(t, "help")
	var text strings.Builder
	for {
		line, err := l.lines.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			break
		}
	}
	if code := l.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, word := range []string{"reference", "restart COMPONENT", "--lifeline-stdin", "COTRAIN_TEST_"} {
		if !strings.Contains(text.String(), word) {
			t.Errorf("help does not tell of %s", word)
		}
	}
}
