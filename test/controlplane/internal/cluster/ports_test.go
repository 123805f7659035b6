// Tests that a reserved port is nobody else's, and usable for a server that shares.
package cluster

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
)

func TestReservedPortIsOursWhileNobodyListens(t *testing.T) {
	reserved, err := reservePort("127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(reserved.number))
	if connection, err := net.Dial("tcp", address); err == nil {
		connection.Close()
		t.Error("somebody answers on a port that is only reserved")
	}
	if listener, err := net.Listen("tcp", address); err == nil {
		listener.Close()
		t.Error("a server that does not share got the port")
	}
	var usage *UsageError
	if second, err := reservePort("127.0.0.1", reserved.number); !errors.As(err, &usage) {
		second.close()
		t.Errorf("a second reservation: %v", err)
	}
	sharing := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(descriptor uintptr) {
			_ = syscall.SetsockoptInt(int(descriptor), syscall.SOL_SOCKET, soReusePort, 1)
		})
	}}
	listener, err := sharing.Listen(context.Background(), "tcp", address)
	if err != nil {
		t.Fatalf("a server that shares did not get the port: %v", err)
	}
	defer listener.Close()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatalf("connect to the server that shares: %v", err)
	}
	connection.Close()
	if _, err := reservePort("127.0.0.1", reserved.number); !errors.As(err, &usage) {
		t.Errorf("reserve a port somebody listens on: %v", err)
	}

	// After a server was killed, its connections linger, and the same port can be asked for again all the same.
	accepted := make(chan net.Conn, 1)
	go func() {
		_, _ = listener.Accept() // the connection above
		peer, _ := listener.Accept()
		accepted <- peer
	}()
	client, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	(<-accepted).Close()
	listener.Close()
	reserved.close()
	again, err := reservePort("127.0.0.1", reserved.number)
	if err != nil {
		t.Fatalf("the port after its server ended: %v", err)
	}
	again.close()
}
