// What strangers and tenants can put into reviews.
package main

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// repeated joins `count` items of a format with their number.
func repeated(count int, format string) string {
	var out strings.Builder
	for i := range count {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, format, i)
	}
	return out.String()
}

func spec(more string) string { return strings.TrimSuffix(torchJob, "}") + "," + more + "}" }

// unknownTargets are as many findings, each about a list that is as long.
func unknownTargets(count int) string {
	return review(legitimate, "findings", spec(`"podTemplateOverrides":[{"targetJobs":[`+repeated(count, `{"name":"x%04d"}`)+`]}]`))
}

func findings32k(s *stage) (string, error) {
	return poster(s, 1, validateJob, unknownTargets(1900)), nil
}

func findings700k(s *stage) (string, error) {
	return poster(s, 1, validateJob, unknownTargets(40_000)), nil
}

// findingsOfTenant stays within what the definition lets through.
func findingsOfTenant(s *stage) (string, error) {
	names := repeated(128, `{"name":"`+strings.Repeat("x", 55)+`%03d"}`)
	overrides := `"podTemplateOverrides":[` + strings.TrimSuffix(strings.Repeat(`{"targetJobs":[`+names+`]},`, 100), ",") + `]`
	job := trainJob("findings", "torch", overrides)
	var last error
	times := crowd(s, 2, func(int) error {
		_, last = s.tenant.Create(jobsIn(s.ns), job)
		return nil
	})
	sent := fmt.Sprintf("%d × %d bytes through the API server", times, len(job))
	if code := codeOf(last); code != 400 && code != 403 && code != 422 {
		return sent, fmt.Errorf("it was not refused: %v", last)
	}
	return sent, nil
}

func nestedLists(s *stage) (string, error) {
	const bytes = 7<<20 - 16
	return poster(s, 4, validateJob, "["+strings.TrimSuffix(strings.Repeat("[0],", bytes/4), ",")+"]"), nil
}

func deepLists(s *stage) (string, error) {
	return poster(s, 2, mutateJob, strings.Repeat(`[{"a":`, 600_000)), nil
}

// large are reviews of 3.4 MB whose work could grow faster than they do.
func large() map[string]string {
	const bytes = 3_400_000
	env := `{"name":"e%06d","value":"v"}`
	patch := `{"manager":"a.b/c%06d","trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":[{"name":"node","template":{"spec":` +
		`{"template":{"spec":{"nodeSelector":{"a%[1]d":"b"}}}}}}]}}}}`
	volume := `{"name":"v%06d","emptyDir":{}}`
	return map[string]string{
		"env":       spec(`"trainer":{"env":[` + repeated(bytes/30, env) + `]}`),
		"patches":   spec(`"runtimePatches":[` + repeated(bytes/170, patch) + `]`),
		"volumes":   spec(`"podTemplateOverrides":[{"targetJobs":[{"name":"node"}],"spec":{"volumes":[` + repeated(bytes/32, volume) + `]}}]`),
		"resources": spec(`"trainer":{"resourcesPerNode":{"limits":{` + repeated(bytes/24, `"a.test/r%06d":"1"`) + `}}}`),
	}
}

func largeReview(what string) func(*stage) (string, error) {
	return func(s *stage) (string, error) {
		return poster(s, 1, validateJob, review(legitimate, "large", large()[what])), nil
	}
}

func concurrentReviews(s *stage) (string, error) {
	return poster(s, 12, validateJob, review(legitimate, "large", large()["patches"])), nil
}

// slowBodies promise much, send nearly all of it, and then hardly anything: large ones first, then what still fits.
func slowBodies(s *stage) (string, error) {
	sizes := map[int]int{7_000_000: 12, 1_000_000: 12, 100_000: 40, 3_000: 60}
	var all sync.WaitGroup
	number := 0
	for _, promised := range []int{7_000_000, 1_000_000, 100_000, 3_000} {
		for range sizes[promised] {
			number++
			all.Add(1)
			go func(from int) {
				defer all.Done()
				s.dribble(from, promised)
			}(number)
		}
		time.Sleep(300 * time.Millisecond)
	}
	all.Wait()
	return fmt.Sprintf("%d bodies of 3 kB to 7 MB that never end", number), nil
}

// dribble comes again when it is sent away.
func (s *stage) dribble(number, promised int) {
	for !s.over() {
		conn, err := dialTLS(number, s.on.ports.webhook, "http/1.1")
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		_ = conn.SetDeadline(s.until.Add(time.Second))
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			validateJob, promised, strings.Repeat(" ", promised-1000))
		for !s.over() {
			if _, err := conn.Write([]byte(" ")); err != nil {
				break
			}
			time.Sleep(300 * time.Millisecond)
		}
		conn.Close()
	}
}

// oracle asks as a stranger what is in other namespaces and in the cluster.
func oracle(s *stage) (string, error) {
	class := `{"metadata":{"name":"attack-known"},"value":1}`
	if _, err := s.admin.Create("/apis/scheduling.k8s.io/v1/priorityclasses", class); err != nil && codeOf(err) != 409 {
		return "", err
	}
	volcano := strings.Replace(torchSpec, `"template":{"spec":{"replicatedJobs"`,
		`"podGroupPolicy":{"volcano":{}},"template":{"spec":{"replicatedJobs"`, 1)
	if err := makeRuntime(s, "volcano", volcano); err != nil {
		return "", err
	}
	time.Sleep(300 * time.Millisecond) // until the operator has seen it
	log := newAudit()
	// A review of this namespace whose object says that it is of another, where the runtime exists.
	elsewhere := strings.Replace(review(s.ns, "a", torchJob), `"namespace":"`+s.ns+`","operation"`, `"namespace":"nowhere","operation"`, 1)
	if _, said, err := stranger(1, s.on.ports.webhook, validateJob, elsewhere); err != nil || strings.Contains(said, `"allowed":true`) {
		return "", fmt.Errorf("a review of namespace nowhere is judged by a runtime of another: %v %.200s", err, said)
	}
	times := crowd(s, 2, func(number int) error {
		job := strings.Replace(torchJob, `"torch"`, `"volcano"`, 1)
		job = strings.TrimSuffix(job, "}") + `,"podTemplateOverrides":[{"targetJobs":[{"name":"node"}],"spec":{"priorityClassName":"attack-known"}}],` +
			`"runtimePatches":[{"manager":"a.b/c","trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":[{"name":"node","template":{"spec":{"template":{"spec":{"priorityClassName":"attack-known"}}}}}]}}}}]}`
		_, _, err := stranger(number, s.on.ports.webhook, validateJob, review(s.ns, "b", job))
		return err
	})
	gets := 0
	for _, e := range log.read() {
		if e.byOperator() && e.Verb == "get" && e.ObjectRef.Resource != "leases" && e.ObjectRef.Namespace != legitimate {
			gets++
		}
	}
	sent := fmt.Sprintf("%d reviews by a stranger", times)
	if gets > 0 {
		return sent, fmt.Errorf("%d GETs were made for them", gets)
	}
	return sent, nil
}
