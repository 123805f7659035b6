// Tests of the real thing: servers that start, restart in place, and are gone whatever happens.
package main

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cotrain.dev/controlplane/internal/process"
)

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

func TestExecGivesEnvironmentAndExitCode(t *testing.T) {
	crds := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(crds, []byte(crd), 0o644); err != nil {
		t.Fatal(err)
	}
	l := launch(t, "exec", "--audit", "--crds", crds, "--", "sh", "-c", `
		"$COTRAIN_TEST_KUBECTL" get crd widgets.example.com -o name 2>&1
		"$COTRAIN_TEST_KUBECTL" --kubeconfig "$COTRAIN_TEST_TOKEN_KUBECONFIG" auth whoami -o jsonpath='{.status.userInfo.username}{"\n"}'
		"$COTRAIN_TEST_KUBECTL" get --raw /version | grep -c '"gitVersion": "v1\.[1-9]'
		grep -c '"username":"system:serviceaccount:kube-system:cotrain-test"' "$COTRAIN_TEST_AUDIT"
		echo "$COTRAIN_TEST_DIR"
		exit 7`)
	want := []string{"customresourcedefinition.apiextensions.k8s.io/widgets.example.com", "system:serviceaccount:kube-system:cotrain-test", "1", "1"}
	for _, expected := range want {
		if got := l.line(); got != expected {
			t.Errorf("got %q, not %q", got, expected)
		}
	}
	dir := l.line()
	if code := l.code(); code != 7 {
		t.Errorf("exit code %d: %s", code, l.errors.String())
	}
	if _, err := os.Stat(dir); dir == "" || !os.IsNotExist(err) {
		t.Errorf("the temporary directory %q: %v", dir, err)
	}
}

func TestControlRestartsInPlace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30)) // longer than a socket's path may be
	l := launch(t, "up", "--dir", dir)
	l.ready()
	if _, err := kubectl(dir, "create", "configmap", "survivor"); err != nil {
		t.Fatal(err)
	}
	pid := regexp.MustCompile(`apiserver=running:(\d+)`)
	before := pid.FindString(ctl(t, dir, "status"))
	for _, component := range []string{"apiserver", "etcd"} {
		if answer := ctl(t, dir, "restart", component); answer != "" {
			t.Fatalf("restart %s: %s", component, answer)
		}
	}
	if after := pid.FindString(ctl(t, dir, "status")); before == "" || after == "" || after == before {
		t.Errorf("the API server's process was %q, is %q", before, after)
	}
	if output, err := kubectl(dir, "get", "configmap", "survivor", "-o", "name"); err != nil {
		t.Errorf("after the restart: %s", output)
	}
	if answer := ctl(t, dir, "kill", "apiserver"); answer != "" {
		t.Errorf("kill: %s", answer)
	}
	server := address(t, dir)
	if connection, err := net.Dial("tcp", server); err == nil {
		connection.Close()
		t.Error("a killed API server accepts connections")
	}
	for verb, wrong := range map[string]string{"stop": "not running", "pause": "not running", "cont": "not running", "dance": "no command"} {
		if answer := ctl(t, dir, verb, "apiserver"); !strings.Contains(answer, wrong) {
			t.Errorf("%s of a killed API server: %q", verb, answer)
		}
	}
	if answer := ctl(t, dir, "start", "apiserver"); answer != "" {
		t.Errorf("start: %s", answer)
	}
	if answer := ctl(t, dir, "start", "apiserver"); !strings.Contains(answer, "running already") {
		t.Errorf("a second start: %q", answer)
	}
	pauses(t, dir, server)
	if err := l.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := l.code(); code != 0 {
		t.Errorf("exit code %d: %s", code, l.errors.String())
	}
}

// pauses sees a paused server accept a connection and say nothing on it until it goes on.
func pauses(t *testing.T, dir, server string) {
	t.Helper()
	if answer := ctl(t, dir, "pause", "apiserver"); answer != "" {
		t.Fatalf("pause: %s", answer)
	}
	if status := ctl(t, dir, "status"); !strings.Contains(status, "apiserver=paused:") {
		t.Errorf("status %q", status)
	}
	connection, err := net.Dial("tcp", server)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	done := make(chan error, 1)
	go func() { done <- tls.Client(connection, &tls.Config{InsecureSkipVerify: true}).Handshake() }()
	select {
	case err := <-done:
		t.Errorf("a paused API server answered: %v", err)
	case <-time.After(200 * time.Millisecond): // nothing can be waited for here
	}
	if answer := ctl(t, dir, "cont", "apiserver"); answer != "" {
		t.Errorf("cont: %s", answer)
	}
	if err := <-done; err != nil {
		t.Errorf("after the pause: %v", err)
	}
}

func TestTokensRunOutWhenAsked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	l := launch(t, "up", "--dir", dir, "--lifeline-stdin")
	l.ready()
	whoami := func(lifetime string) (string, error) {
		token := ctl(t, dir, "token", "default", "tester", lifetime)
		// No certificate: it would win over the token.
		return kubectl(dir, "--kubeconfig=/dev/null", "--server=https://"+address(t, dir), "--token="+token,
			"--certificate-authority="+filepath.Join(dir, "pki", "ca.crt"),
			"auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
	}
	for _, lifetime := range []string{"60", "-30"} {
		if output, err := whoami(lifetime); err != nil || output != "system:serviceaccount:default:tester" {
			t.Errorf("token for %s s: %q %v", lifetime, output, err)
		}
	}
	if output, err := whoami("-90"); err == nil {
		t.Errorf("a token that has run out is accepted: %s", output)
	}
	if answer := ctl(t, dir, "token", "nowhere", "tester"); !strings.Contains(answer, "nowhere") {
		t.Errorf("a token of a namespace that is not there: %q", answer)
	}
	l.stdin.Close()
	if code := l.code(); code != 0 {
		t.Errorf("end of the lifeline: exit code %d: %s", code, l.errors.String())
	}
}

func TestNothingSurvivesSIGKILL(t *testing.T) {
	l := launch(t, "exec", "--", "sh", "-c", "sleep 1000 & echo started; sleep 1000")
	if got := l.line(); got != "started" {
		t.Fatalf("%q %s", got, l.errors.String())
	}
	if err := l.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if code := l.code(); code != -1 {
		t.Errorf("exit code %d", code)
	}
}

func TestServersDieEvenWhenTheGuardIsKilledToo(t *testing.T) {
	l := launch(t, "up", "--dir", filepath.Join(t.TempDir(), "d"))
	l.ready()
	guards := 0
	for pid, line := range children(l.Process.Pid) {
		if strings.Contains(line, process.GuardCommand) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			guards++
		}
	}
	if guards != 1 {
		t.Errorf("%d guards", guards)
	}
	_ = l.Process.Kill()
	_ = l.Wait()
	l.nothingRuns()
	for _, dir := range l.data() { // nobody was left to remove it; a later run does
		os.RemoveAll(dir)
	}
}

func TestSignalDuringStartAndDuringCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	early := launch(t, "up", "--dir", dir, "--arg", "apiserver=--shutdown-delay-duration=1s")
	for end := time.Now().Add(patience); ; {
		if _, err := os.Stat(filepath.Join(dir, "logs", "apiserver.log")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the API server is not started: %s", early.errors.String())
		}
		runtime.Gosched()
	}
	_ = early.Process.Signal(syscall.SIGTERM)
	if code := early.code(); code != 128+15 {
		t.Errorf("during start: exit code %d: %s", code, early.errors.String())
	}
	late := launch(t, "exec", "--", "sh", "-c", "echo started; sleep 1000")
	late.line()
	_ = late.Process.Signal(syscall.SIGINT)
	if code := late.code(); code != 128+2 {
		t.Errorf("during the command: exit code %d: %s", code, late.errors.String())
	}
}

func TestAComponentThatEndsByItselfIsSaid(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	l := launch(t, "up", "--dir", dir)
	l.ready()
	if second := launch(t, "up", "--dir", dir); true {
		if _ = second.Wait(); second.ProcessState.ExitCode() != 2 || !strings.Contains(second.errors.String(), "another control plane") {
			t.Errorf("a second one in the same directory: %d %s", second.ProcessState.ExitCode(), second.errors.String())
		}
	}
	pid, _ := strconv.Atoi(regexp.MustCompile(`etcd=running:(\d+)`).FindStringSubmatch(ctl(t, dir, "status"))[1])
	_ = syscall.Kill(pid, syscall.SIGKILL)
	if code := l.code(); code != 1 || !strings.Contains(l.errors.String(), "etcd ended by itself: signal: killed") {
		t.Errorf("exit code %d: %s", code, l.errors.String())
	}
}

func TestAssetsComeFirstAndABrokenServerIsExplained(t *testing.T) {
	assets := t.TempDir()
	broken := "#!/bin/sh\necho no API server today\nexit 3\n"
	if err := os.WriteFile(filepath.Join(assets, "kube-apiserver"), []byte(broken), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	l := launch(t, "up", "--dir", filepath.Join(t.TempDir(), "d"))
	if code := l.code(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	text := l.errors.String()
	for _, part := range []string{"apiserver did not become ready: exit status 3", "no API server today"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not tell %q", text, part)
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", "/nowhere")
	launch(t, "up", "--dir", "x").fails(2, "KUBEBUILDER_ASSETS=/nowhere")
}

func address(t *testing.T, dir string) string {
	t.Helper()
	return strings.TrimPrefix(env(t, dir, "COTRAIN_TEST_SERVER"), "https://")
}
