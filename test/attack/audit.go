// The API server's audit log: who asked for what.
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"strings"
	"time"
)

type entry struct {
	Stage     string
	Verb      string
	UserAgent string
	User      struct{ Username string }
	ObjectRef struct{ Resource, Subresource, Namespace, Name string }
	Received  time.Time          `json:"requestReceivedTimestamp"`
	Status    struct{ Code int } `json:"responseStatus"`
	URI       string             `json:"requestURI"`
}

func (e entry) byOperator() bool { return strings.HasPrefix(e.UserAgent, "cotrain/") }

func (e entry) writes() bool { return e.Verb != "get" && e.Verb != "list" && e.Verb != "watch" }

// audit reads what came after it was made.
type audit struct{ from int64 }

func newAudit() *audit {
	info, err := os.Stat(os.Getenv("COTRAIN_TEST_AUDIT"))
	if err != nil {
		return &audit{}
	}
	return &audit{info.Size()}
}

func (a *audit) read() []entry {
	time.Sleep(300 * time.Millisecond) // it is written a moment after the answer
	file, err := os.Open(os.Getenv("COTRAIN_TEST_AUDIT"))
	if err != nil {
		return nil
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Size() < a.from {
		a.from = 0 // it was begun anew
	}
	_, _ = file.Seek(a.from, io.SeekStart)
	var out []entry
	lines := bufio.NewReaderSize(file, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return out
		}
		a.from += int64(len(line))
		var e entry
		if json.Unmarshal(line, &e) == nil && e.Stage != "ResponseStarted" { // of a watch there is another line when it ends
			out = append(out, e)
		}
	}
}
