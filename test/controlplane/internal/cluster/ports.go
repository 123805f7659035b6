// Ports of loopback that are free, and one that stays ours while nobody listens on it.
package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
)

// Below the range from which kernels pick ports for outgoing connections, so that only a server can come between.
const (
	firstPort = 20000
	lastPort  = 30000
	portTries = 50
	// Package syscall leaves it out on some architectures.
	soReusePort = 15
)

// reservedPort is a bound socket that does not listen. Servers that set SO_REUSEPORT may listen on its port; while
// none does, connections are refused, but no other program gets the port and no client can connect to itself.
type reservedPort struct {
	number     int
	descriptor int
}

// reservePort takes the given port, or any free one for 0.
func reservePort(address string, port int) (*reservedPort, error) {
	ip := net.ParseIP(address)
	if port != 0 {
		reserved, err := bindPort(ip, port, false)
		if errors.Is(err, syscall.EADDRINUSE) {
			// Perhaps only connections of an earlier server still linger there.
			reserved, err = bindPort(ip, port, true)
		}
		if err != nil {
			return nil, &UsageError{fmt.Sprintf("port %d of %s cannot be used: %v", port, address, err)}
		}
		return reserved, nil
	}
	var err error
	for range portTries {
		var reserved *reservedPort
		if reserved, err = bindPort(ip, firstPort+rand.IntN(lastPort-firstPort), false); err == nil {
			return reserved, nil
		}
	}
	return nil, &UsageError{fmt.Sprintf("no port of %s can be used: %v", address, err)}
}

// bindPort sets SO_REUSEPORT only after binding: so it takes no port that somebody else has, other launchers
// included, and yet lets our server in.
func bindPort(ip net.IP, port int, lingering bool) (*reservedPort, error) {
	family, address := syscall.AF_INET6, syscall.Sockaddr(&syscall.SockaddrInet6{Port: port, Addr: [16]byte(ip.To16())})
	if v4 := ip.To4(); v4 != nil {
		family, address = syscall.AF_INET, &syscall.SockaddrInet4{Port: port, Addr: [4]byte(v4)}
	}
	descriptor, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if lingering {
		err = syscall.SetsockoptInt(descriptor, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	}
	if err == nil {
		err = syscall.Bind(descriptor, address)
	}
	if err == nil {
		err = syscall.SetsockoptInt(descriptor, syscall.SOL_SOCKET, soReusePort, 1)
	}
	if err != nil {
		_ = syscall.Close(descriptor)
		return nil, err
	}
	return &reservedPort{number: port, descriptor: descriptor}, nil
}

func (r *reservedPort) close() {
	if r != nil {
		_ = syscall.Close(r.descriptor)
	}
}

// freePort is for servers that cannot share: it was free a moment ago.
func freePort(address string) (int, error) {
	reserved, err := reservePort(address, 0)
	if err != nil {
		return 0, err
	}
	defer reserved.close()
	return reserved.number, nil
}
