// Connections of somebody who has no credentials: from any address of loopback, with any bytes.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const connectWithin = 5 * time.Second

func anyServer(protocols ...string) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, NextProtos: protocols}
}

// source is an address that is not the API server's: servers may bound what comes from one.
func source(number int) net.IP { return net.IPv4(127, 0, byte(66+number/200), byte(1+number%200)) }

func dialer(from int) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: source(from)}, Timeout: connectWithin}
}

func dial(from, port int) (net.Conn, error) {
	return dialer(from).Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
}

func dialTLS(from, port int, protocol string) (net.Conn, error) {
	plain, err := dial(from, port)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(plain, anyServer(protocol))
	_ = plain.SetDeadline(time.Now().Add(connectWithin))
	if err := secure.Handshake(); err != nil {
		plain.Close()
		return nil, err
	}
	_ = plain.SetDeadline(time.Time{})
	return secure, nil
}

// stranger posts a review without credentials; the answer's code and text.
func stranger(from, port int, path string, body string) (int, string, error) {
	client := http.Client{Timeout: givenUpAfter, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: anyServer("http/1.1"), DialContext: dialer(from).DialContext}}
	answer, err := client.Post(fmt.Sprintf("https://127.0.0.1:%d%s", port, path), jsonType, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(said), err
}

// crowd runs `many` at once until the stage's time is up; how often one came to its end.
func crowd(s *stage, many int, each func(number int) error) int64 {
	var times atomic.Int64
	var all sync.WaitGroup
	for i := range many {
		all.Add(1)
		go func() {
			defer all.Done()
			for !s.over() && s.on.running() {
				if each(i) == nil {
					times.Add(1)
				} else {
					time.Sleep(20 * time.Millisecond)
				}
			}
		}()
	}
	all.Wait()
	return times.Load()
}

// poster sends the same review from many sides.
func poster(s *stage, many int, path, body string) string {
	times := crowd(s, many, func(number int) error {
		_, _, err := stranger(number, s.on.ports.webhook, path, body)
		return err
	})
	return fmt.Sprintf("%d × %d bytes, %d at a time", times, len(body), many)
}

// h2 is an HTTP/2 connection whose frames are ours to choose.
type h2 struct {
	conn    net.Conn
	framer  *http2.Framer
	out     *bufio.Writer
	encoder *hpack.Encoder
	block   bytes.Buffer
	closed  chan struct{} // the peer has closed, or says that we should
}

func dialH2(from, port int) (*h2, error) {
	conn, err := dialTLS(from, port, "h2")
	if err != nil {
		return nil, err
	}
	c := &h2{conn: conn, out: bufio.NewWriterSize(conn, 1<<16), closed: make(chan struct{})}
	_ = conn.SetWriteDeadline(time.Now().Add(20 * time.Second))
	c.framer = http2.NewFramer(c.out, conn)
	c.framer.AllowIllegalWrites = true
	c.encoder = hpack.NewEncoder(&c.block)
	_, _ = c.out.WriteString(http2.ClientPreface)
	_ = c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	go func() {
		defer close(c.closed)
		for {
			frame, err := c.framer.ReadFrame()
			if err != nil {
				return
			}
			if _, ends := frame.(*http2.GoAwayFrame); ends {
				return
			}
		}
	}()
	return c, c.out.Flush()
}

func (c *h2) close() { c.conn.Close() }

func (c *h2) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

func (c *h2) fields(pairs ...string) []byte {
	c.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		_ = c.encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return bytes.Clone(c.block.Bytes())
}

func (c *h2) get(path string) []byte {
	return c.fields(":method", "GET", ":scheme", "https", ":authority", "a", ":path", path)
}

// flood writes frames to all ports with TLS until the time is up or the peer has had enough; how many were sent, and
// the most that one connection got rid of.
func flood(s *stage, perPort int, each func(c *h2, number uint32) error) (all, most int64) {
	var times, largest atomic.Int64
	var running sync.WaitGroup
	for _, port := range s.on.ports.withTLS() {
		for i := range perPort {
			running.Add(1)
			go func() {
				defer running.Done()
				for !s.over() && s.on.running() {
					c, err := dialH2(i, port)
					if err != nil {
						time.Sleep(50 * time.Millisecond)
						continue
					}
					var sent int64
					for number := uint32(0); !s.over() && !c.isClosed(); number++ {
						if each(c, number) != nil {
							break
						}
						sent++
					}
					_ = c.out.Flush()
					c.close()
					times.Add(sent)
					for old := largest.Load(); sent > old && !largest.CompareAndSwap(old, sent); old = largest.Load() {
					}
				}
			}()
		}
	}
	running.Wait()
	return times.Load(), largest.Load()
}

func randomText(r *rand.Rand, bytes int) string {
	out := make([]byte, bytes)
	for i := range out {
		out[i] = byte('a' + r.IntN(26))
	}
	return string(out)
}
