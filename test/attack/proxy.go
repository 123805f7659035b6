// A TCP proxy between an operator and the API server that can fail as networks do.
package main

import (
	"net"
	"strings"
	"sync"
	"time"
)

type proxy struct {
	target   string
	listener net.Listener
	mutex    sync.Mutex
	changed  *sync.Cond
	hole     bool          // nothing passes, nor is lost: it comes when this is over
	refuse   bool          // whoever connects is sent away
	delay    time.Duration // of each direction
	links    map[*link]bool
}

// link is one connection through the proxy.
type link struct {
	ends [2]net.Conn
	dead bool // never says anything again
}

func newProxy(target string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{target: strings.TrimPrefix(target, "https://"), listener: listener, links: map[*link]bool{}}
	p.changed = sync.NewCond(&p.mutex)
	go p.accept()
	return p, nil
}

func (p *proxy) url() string { return "https://" + p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.join(client)
	}
}

func (p *proxy) join(client net.Conn) {
	p.mutex.Lock()
	refuse := p.refuse
	p.mutex.Unlock()
	if refuse {
		reset(client)
		return
	}
	p.passing(nil)
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		reset(client)
		return
	}
	l := &link{ends: [2]net.Conn{client, server}}
	p.mutex.Lock()
	p.links[l] = true
	p.mutex.Unlock()
	go p.copy(l, 0)
	go p.copy(l, 1)
}

type parcel struct {
	bytes []byte
	due   time.Time
}

// copy carries from one end to the other until either ends.
func (p *proxy) copy(l *link, from int) {
	parcels := make(chan parcel, 4096)
	go func() {
		for each := range parcels {
			time.Sleep(time.Until(each.due))
			if p.passing(l) {
				_, _ = l.ends[1-from].Write(each.bytes)
			}
		}
		p.passing(l)
		l.ends[1-from].Close()
	}()
	defer close(parcels)
	defer func() {
		p.mutex.Lock()
		delete(p.links, l)
		p.mutex.Unlock()
	}()
	for {
		buffer := make([]byte, 32<<10)
		n, err := l.ends[from].Read(buffer)
		if n > 0 {
			p.mutex.Lock()
			due := time.Now().Add(p.delay)
			p.mutex.Unlock()
			parcels <- parcel{buffer[:n], due}
		}
		if err != nil {
			return
		}
	}
}

// passing waits while nothing passes; false for a link that is dead.
func (p *proxy) passing(l *link) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for p.hole {
		p.changed.Wait()
	}
	return l == nil || !l.dead
}

func (p *proxy) set(change func()) {
	p.mutex.Lock()
	change()
	p.mutex.Unlock()
	p.changed.Broadcast()
}

func (p *proxy) blackHole() { p.set(func() { p.hole = true }) }

func (p *proxy) heal() { p.set(func() { p.hole, p.refuse, p.delay = false, false, 0 }) }

func (p *proxy) slow(by time.Duration) { p.set(func() { p.delay = by }) }

// halfOpen: what is connected now never hears anything again; who connects anew is served.
func (p *proxy) halfOpen() {
	p.set(func() {
		for l := range p.links {
			l.dead = true
		}
	})
}

// cut resets all connections; with `refuse`, new ones, too, until heal.
func (p *proxy) cut(refuse bool) {
	p.mutex.Lock()
	p.refuse = refuse
	var all []*link
	for l := range p.links {
		all = append(all, l)
	}
	p.mutex.Unlock()
	for _, l := range all {
		reset(l.ends[0])
		reset(l.ends[1])
	}
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}
