// The terminal: who is its foreground group, and taking it back after a child had it.
package process

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"
)

// foreground tells whether the file is a terminal whose foreground group is ours: one in the background may not give
// it away.
func foreground(file *os.File) bool {
	var group int32
	_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group)))
	return failed == 0 && int(group) == syscall.Getpgrp()
}

// reclaimTerminal makes us the foreground group again after a child was it. SIGTTOU, which the kernel sends to a background group that
// tries this, must be ignored meanwhile.
func reclaimTerminal() {
	signal.Ignore(syscall.SIGTTOU)
	group := int32(syscall.Getpgrp())
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, os.Stdin.Fd(), syscall.TIOCSPGRP, uintptr(unsafe.Pointer(&group)))
}
