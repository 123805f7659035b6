// What anybody who reaches a port can do to it without a request that makes sense.
package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

// hpackReferences: a few bytes that stand for many, in requests that never end.
func hpackReferences(s *stage) (string, error) {
	const connections, streams, references = 60, 100, 15
	var all sync.WaitGroup
	var mutex sync.Mutex
	bytes := 0
	for i := range connections {
		all.Add(1)
		go func() {
			defer all.Done()
			c, err := dialH2(i, s.on.ports.webhook)
			if err != nil {
				return
			}
			defer c.close()
			sent := 0
			for number := range streams {
				pairs := []string{":method", "POST", ":scheme", "https", ":authority", "a", ":path", validateJob}
				for range references {
					pairs = append(pairs, "x", strings.Repeat("v", 3900)) // of the dynamic table after the first
				}
				block := c.fields(pairs...)
				sent += len(block)
				if c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*number + 1), BlockFragment: block, EndHeaders: true}) != nil {
					break
				}
			}
			_ = c.out.Flush()
			mutex.Lock()
			bytes += sent
			mutex.Unlock()
			for !s.over() && !c.isClosed() {
				time.Sleep(20 * time.Millisecond)
			}
		}()
	}
	all.Wait()
	return fmt.Sprintf("%d bytes of header blocks that stand for %d MB", bytes, connections*streams*references*3900/1_000_000), nil
}

// idle connections, more than there are descriptors, from one address and from many.
func idle(s *stage, sources int) (string, error) {
	const perPort = 1100
	var conns []net.Conn
	var mutex sync.Mutex
	var all sync.WaitGroup
	for _, port := range s.on.ports.all() {
		for worker := range 20 {
			all.Add(1)
			go func() {
				defer all.Done()
				for i := range perPort / 20 {
					conn, err := dialer((worker*perPort/20+i)%sources).Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
					if err != nil {
						continue
					}
					mutex.Lock()
					conns = append(conns, conn)
					mutex.Unlock()
				}
			}()
		}
	}
	all.Wait()
	s.until = time.Now().Add(attackTime)
	for !s.over() {
		time.Sleep(50 * time.Millisecond)
	}
	for _, each := range conns {
		each.Close()
	}
	return fmt.Sprintf("%d connections from %d addresses that say nothing", len(conns), sources), nil
}

func idleFromOne(s *stage) (string, error)  { return idle(s, 1) }
func idleFromMany(s *stage) (string, error) { return idle(s, 800) }

// halfHandshakes leaves TLS connections that have done their handshake and say nothing.
func idleTLS(s *stage) (string, error) {
	var conns []net.Conn
	for i := range 600 {
		if conn, err := dialTLS(i, s.on.ports.webhook, "h2"); err == nil {
			conns = append(conns, conn)
		}
		if s.over() {
			break
		}
	}
	s.until = time.Now().Add(attackTime / 2)
	for !s.over() {
		time.Sleep(50 * time.Millisecond)
	}
	for _, each := range conns {
		each.Close()
	}
	return fmt.Sprintf("%d handshakes, then silence", len(conns)), nil
}

// headerFlood never comes to the end of its headers.
func headerFlood(s *stage) (string, error) {
	line := "X-" + strings.Repeat("a", 1000) + ": " + strings.Repeat("b", 1000) + "\r\n"
	times := crowd(s, 40, func(number int) error {
		port := s.on.ports.all()[number%4]
		conn, err := dial(number, port)
		if err != nil {
			return err
		}
		defer conn.Close()
		if port != s.on.ports.health {
			conn = tls.Client(conn, anyServer("http/1.1"))
		}
		_ = conn.SetDeadline(s.until.Add(time.Second))
		if _, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: a\r\n"); err != nil {
			return err
		}
		for range 200 {
			if _, err := conn.Write([]byte(line)); err != nil {
				return nil
			}
		}
		return nil
	})
	return fmt.Sprintf("%d connections with headers without end, 40 at a time", times), nil
}

func continuations(s *stage) (string, error) {
	filler := make([]byte, 16000)
	all, most := flood(s, 4, func(c *h2, number uint32) error {
		if number == 0 {
			return c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.get("/")})
		}
		return c.framer.WriteContinuation(1, false, filler)
	})
	return fmt.Sprintf("%d CONTINUATION frames, at most %d over one connection", all, most), nil
}

func rapidReset(s *stage) (string, error) {
	all, most := flood(s, 4, func(c *h2, number uint32) error {
		id := 2*number + 1
		if err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.get("/"), EndHeaders: true, EndStream: true}); err != nil {
			return err
		}
		return c.framer.WriteRSTStream(id, http2.ErrCodeCancel)
	})
	return fmt.Sprintf("%d streams opened and reset, at most %d over one connection", all, most), nil
}

// framesMax is what a peer may get rid of before it is sent away: the server's buckets, and what is in buffers.
const framesMax = 1_000_000

func tooMany(sent string, most int64) (string, error) {
	if most > framesMax {
		return sent, fmt.Errorf("one connection was let to send %d", most)
	}
	return sent, nil
}

func unknownFrames(s *stage) (string, error) {
	all, most := flood(s, 2, func(c *h2, _ uint32) error { return c.framer.WriteRawFrame(0xfb, 0, 0, nil) })
	return tooMany(fmt.Sprintf("%d frames of an unknown type, at most %d over one connection", all, most), most)
}

func pings(s *stage) (string, error) {
	all, most := flood(s, 2, func(c *h2, number uint32) error {
		if number%2 == 0 {
			return c.framer.WriteSettings()
		}
		return c.framer.WritePing(false, [8]byte{byte(number)})
	})
	return tooMany(fmt.Sprintf("%d PING and SETTINGS frames, at most %d over one connection", all, most), most)
}

func windowUpdates(s *stage) (string, error) {
	all, most := flood(s, 2, func(c *h2, number uint32) error {
		switch number {
		case 0:
			return c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.fields(":method", "POST", ":scheme", "https",
				":authority", "a", ":path", "/"), EndHeaders: true})
		default:
			if number%3 == 0 {
				return c.framer.WriteData(1, false, nil)
			}
			return c.framer.WritePriority(1, http2.PriorityParam{StreamDep: 0, Weight: byte(number)})
		}
	})
	return tooMany(fmt.Sprintf("%d empty DATA and PRIORITY frames, at most %d over one connection", all, most), most)
}

// oldHTTP: what proxies and servers read differently is refused.
func oldHTTP(s *stage) (string, error) {
	cases := map[string]string{
		"obs-fold":                      "POST %s HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\nContent-Length: 0\r\n\r\n",
		"obs-fold of Transfer-Encoding": "POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
		"Transfer-Encoding in HTTP/1.0": "POST %s HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	}
	var faults []string
	for name, request := range cases {
		conn, err := dialTLS(1, s.on.ports.webhook, "http/1.1")
		if err != nil {
			return "", err
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		fmt.Fprintf(conn, request, "/nothing")
		answer := make([]byte, 12)
		n, _ := conn.Read(answer)
		conn.Close()
		if !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 400") && !strings.HasPrefix(string(answer[:n]), "HTTP/1.0 400") {
			faults = append(faults, fmt.Sprintf("%s is answered with %q", name, answer[:n]))
		}
	}
	if len(faults) > 0 {
		return "", fmt.Errorf("%s", strings.Join(faults, "; "))
	}
	return fmt.Sprintf("%d requests that are read differently elsewhere", len(cases)), nil
}

const logLinesPerSecondMax = 200

// logFlood makes mistakes that are worth a line each.
func logFlood(s *stage) (string, error) {
	before, begun := s.on.logLines(), time.Now()
	times := crowd(s, 8, func(number int) error {
		port := s.on.ports.withTLS()[number%3]
		conn, err := dial(number, port)
		if err != nil {
			return err
		}
		defer conn.Close()
		switch number % 4 {
		case 0:
			_, err = conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		case 1:
			_, err = conn.Write([]byte("\x16\x03\x01\xff\xff\x01\x00\x00nonsense"))
		case 2:
			old := anyServer("h2")
			old.MaxVersion = tls.VersionTLS11
			_ = tls.Client(conn, old).Handshake()
		default:
			if times := number / 4 % 2; times == 0 {
				_, _, err = stranger(number, s.on.ports.webhook, validateJob, "{")
			} else {
				_, _, err = stranger(number, s.on.ports.status, jobsIn("nowhere")+"/none/status", "{}")
			}
		}
		return err
	})
	lines := s.on.logLines() - before
	rate := float64(lines) / time.Since(begun).Seconds()
	sent := fmt.Sprintf("%d mistakes, %d lines of log", times, lines)
	if rate > logLinesPerSecondMax {
		return sent, fmt.Errorf("%.0f lines of log a second", rate)
	}
	return sent, nil
}

// handshakes costs the operator a signature each.
func handshakes(s *stage) (string, error) {
	times := crowd(s, 8, func(number int) error {
		conn, err := dialTLS(number, s.on.ports.withTLS()[number%3], "h2")
		if err == nil {
			conn.Close()
		}
		return err
	})
	return fmt.Sprintf("%d TLS handshakes, 8 at a time", times), nil
}
