// The control socket: tests write a line with a command and read a line with the answer, "ok ..." or "error: ...".
package cluster

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ControlHelp lists the commands.
const ControlHelp = `  status                     every component with its state and process number
  stop COMPONENT [SECONDS]   SIGTERM, SIGKILL after 20 (etcd: 1) or so many seconds; returns when ended
  kill COMPONENT             SIGKILL; returns when it has ended
  start COMPONENT            the same command line, the same port; returns when it is ready
  restart COMPONENT          stop and start
  pause COMPONENT            SIGSTOP: connections stay open and nothing answers
  cont COMPONENT             SIGCONT
  token NAMESPACE NAME [SECONDS]
                             a token of that service account, which is made if missing; it runs out after 3600 or so
                             many seconds. The API server grants 60 more: -55 gives one that is good for 5.
  COMPONENT is apiserver, etcd, kcm, scheduler, jobset or reference.`

const (
	maxCommandBytes      = 4096
	defaultTokenLifetime = time.Hour
)

func (c *Cluster) controlSocket() string { return filepath.Join(c.scratch.Dir, "control.sock") }

func (c *Cluster) listenControl() error {
	listener, err := net.Listen("unix", c.controlSocket())
	if err != nil {
		return err
	}
	c.control = listener
	if err := os.Symlink(c.controlSocket(), c.path("control.sock")); err != nil {
		return err
	}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go c.serveControl(connection)
		}
	}()
	return nil
}

func (c *Cluster) serveControl(connection net.Conn) {
	defer connection.Close()
	lines := bufio.NewScanner(connection)
	lines.Buffer(make([]byte, 0, 256), maxCommandBytes)
	for lines.Scan() {
		answer, err := c.Command(context.Background(), strings.Fields(lines.Text()))
		if err != nil {
			// Answers are lines.
			answer = "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
		} else {
			answer = strings.TrimSpace("ok " + answer)
		}
		if _, err := fmt.Fprintln(connection, answer); err != nil {
			return
		}
	}
}

// Command carries one out; one at a time.
func (c *Cluster) Command(ctx context.Context, words []string) (string, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(words) == 0 {
		return "", fmt.Errorf("no command")
	}
	switch verb, arguments := words[0], words[1:]; verb {
	case "status":
		var states []string
		for _, part := range c.parts {
			states = append(states, part.state())
		}
		return strings.Join(states, " "), nil
	case "token":
		return c.commandToken(ctx, arguments)
	case "stop", "kill", "start", "restart", "pause", "cont":
		if len(arguments) == 0 {
			return "", fmt.Errorf("%s: which component?", verb)
		}
		for _, part := range c.parts {
			if part.name == arguments[0] {
				return "", c.commandPart(ctx, verb, part, arguments[1:])
			}
		}
		return "", fmt.Errorf("no component %q here", arguments[0])
	default:
		return "", fmt.Errorf("no command %q", verb)
	}
}

func (c *Cluster) commandPart(ctx context.Context, verb string, part *part, arguments []string) error {
	grace := part.grace
	if len(arguments) > 0 && (verb == "stop" || verb == "restart") {
		seconds, err := strconv.ParseUint(arguments[0], 10, 16)
		if err != nil {
			return fmt.Errorf("%q is no number of seconds", arguments[0])
		}
		grace = time.Duration(seconds) * time.Second
	}
	switch verb {
	case "stop", "kill":
		if verb == "kill" {
			grace = 0
		}
		if !part.stop(grace) {
			return fmt.Errorf("%s is not running", part.name)
		}
		return nil
	case "start":
		return c.runAgain(ctx, part)
	case "restart":
		part.stop(grace)
		return c.runAgain(ctx, part)
	default:
		return part.pause(verb == "pause")
	}
}

// runAgain starts a component; etcd is of use only when the API server has found it again.
func (c *Cluster) runAgain(ctx context.Context, part *part) error {
	if err := c.run(ctx, part); err != nil {
		return err
	}
	for _, server := range c.parts {
		if part.name == "etcd" && server.name == "apiserver" && server.serving() {
			bounded, cancel := c.bounded(ctx)
			defer cancel()
			return server.ready(bounded)
		}
	}
	return nil
}

func (c *Cluster) commandToken(ctx context.Context, arguments []string) (string, error) {
	if len(arguments) < 2 {
		return "", fmt.Errorf("token: which namespace and service account?")
	}
	lifetime := defaultTokenLifetime
	if len(arguments) > 2 {
		seconds, err := strconv.ParseInt(arguments[2], 10, 32)
		if err != nil {
			return "", fmt.Errorf("%q is no number of seconds", arguments[2])
		}
		lifetime = time.Duration(seconds) * time.Second
	}
	bounded, cancel := c.bounded(ctx)
	defer cancel()
	return c.tokens.Mint(bounded, arguments[0], arguments[1], lifetime)
}
