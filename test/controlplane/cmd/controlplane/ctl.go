// The command ctl: a line to the control socket and its answer back, for scripts.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
)

func control(words []string) int {
	socket := os.Getenv("COTRAIN_TEST_CONTROL")
	switch {
	case len(words) == 0:
		return fail(usageError("ctl: which command? controlplane help lists them"))
	case socket == "":
		return fail(usageError("ctl: COTRAIN_TEST_CONTROL is not set; source DIR/env of the control plane first"))
	}
	connection, err := net.Dial("unix", socket)
	if err != nil {
		return fail(usageError("ctl: no control plane runs there: %v", err))
	}
	defer connection.Close()
	if _, err := fmt.Fprintln(connection, strings.Join(words, " ")); err != nil {
		return fail(err)
	}
	answer, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil {
		return fail(fmt.Errorf("ctl: the control plane ended before it answered: %w", err))
	}
	answer = strings.TrimSpace(answer)
	if text, failed := strings.CutPrefix(answer, "error: "); failed {
		return fail(fmt.Errorf("ctl: %s", text))
	}
	if text := strings.TrimSpace(strings.TrimPrefix(answer, "ok")); text != "" {
		fmt.Println(text)
	}
	return 0
}
