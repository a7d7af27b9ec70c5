// SPDX-License-Identifier: LGPL-2.1-or-later

// Package dalbe gives a TCP connection a number of bytes and a deadline.
//
//	conn, err := net.Dial("tcp", "backup.example:873")
//	err = dalbe.SetGoal(conn.(*net.TCPConn), 300e6, 90*time.Second)
//
// These are the calls of dalbe_ctl.h, which explains each of them: ioctls of /dev/dalbe, or socket
// options where dalbe_cdg is the BPF edition. A listener's goal is that of each connection that it
// accepts; since Go 1.24 listeners are Multipath TCP, which has no goals: use a net.ListenConfig
// with SetMultipathTCP(false).
package dalbe

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	solDalbe      = 0xda1b
	tcpCongestion = 13

	nrGoal, nrState, nrClear, nrParams, nrGroup = 1, 2, 3, 4, 5

	goalRelative, goalUpdate, goalEach     = 1, 2, 4
	paramController, paramWmin, paramAfter = 2, 8, 16
	controllerWeight                       = 3
)

// What to do past the deadline, for Goal.After.
const (
	AfterBestEffort = iota + 1
	AfterScavenger
	AfterKeep
)

type goal struct {
	fd       int32
	flags    uint32
	bytes    uint64
	deadline uint64
	job      uint32
	_        [3]uint32
}

type params struct {
	fd                                    int32
	flags, g, controller, tw, wmin, after uint32
	_                                     [5]uint32
}

type clearing struct {
	fd    int32
	flags uint32
}

type grouping struct {
	fd                   int32
	flags, group, unused uint32
}

type state struct {
	fd                                               int32
	status, flags, controller, after, tw             uint32
	goalBytes, bytesDone, deadline                   uint64
	timeLeft                                         int64
	target, rate                                     uint64
	w, wmin, phi, g, srtt, minRTT, cwnd, updates     uint32
	backoffsDelay, backoffsLoss                      uint64
	lossEpisodes, lossAnswers, regime, ours          uint32
	level                                            uint64
	yields, pathFlows, group, carried, job, reserved uint32
}

// State is what a connection is doing; dalbectl get -v shows more.
type State struct {
	Status    string // "no goal", "scavenger", "waiting", "on track", "infeasible", "late", "done"
	GoalBytes uint64
	BytesDone uint64
	TimeLeft  time.Duration // negative after the deadline
	Rate      uint64        // bytes/s
	Target    uint64        // bytes/s that meet the deadline
	W         float64       // 1: as any other connection; 0: not under control
	Contended bool          // others are there
	Job       uint32
	Group     uint32
}

// Goal is what SetGoal takes, and more.
type Goal struct {
	Bytes  uint64
	Within time.Duration
	Job    uint32 // not 0: one goal for all connections of this number
	Update bool   // the count of bytes done stays, and Bytes is the new total
	Each   bool   // of a listener: for each connection from its own beginning
	After  int    // AfterBestEffort, ...; 0: as net.dalbe.after_deadline says
}

var (
	deviceLock sync.Mutex
	device     *os.File
)

func openDevice() (*os.File, error) {
	deviceLock.Lock()
	defer deviceLock.Unlock()
	if device == nil {
		file, err := os.OpenFile("/dev/dalbe", os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		device = file
	}
	return device, nil
}

// request is _IOW() of dalbe_ctl.h, and _IOWR() of the state.
func request(nr, size uintptr) uintptr {
	read, write, shift := uintptr(2), uintptr(1), 30
	switch runtime.GOARCH {
	case "ppc64", "ppc64le", "mips", "mipsle", "mips64", "mips64le":
		write, shift = 4, 29
	}
	direction := write
	if nr == nrState {
		direction |= read
	}
	return direction<<shift | size<<16 | 0xda<<8 | nr
}

func option(fd, nr uintptr, arg unsafe.Pointer, size uintptr) syscall.Errno {
	if nr == nrState {
		length := uint32(size)
		_, _, errno := syscall.Syscall6(syscall.SYS_GETSOCKOPT, fd, solDalbe, nr,
			uintptr(arg), uintptr(unsafe.Pointer(&length)), 0)
		return errno
	}
	_, _, errno := syscall.Syscall6(syscall.SYS_SETSOCKOPT, fd, solDalbe, nr,
		uintptr(arg), size, 0)
	return errno
}

// ask is a call of the edition that is there.
func ask(fd, nr uintptr, arg unsafe.Pointer, size uintptr) error {
	errno := option(fd, nr, arg, size)
	if errno == 0 {
		return nil
	}
	// without the BPF edition the kernel does not know our options
	if errno != syscall.ENOPROTOOPT && errno != syscall.EOPNOTSUPP {
		return advised(errno)
	}
	file, err := openDevice()
	if err != nil {
		if errors.Is(err, os.ErrNotExist) && !absent() {
			return advised(errno)
		}
		return advised(err)
	}
	if _, _, errno = syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), request(nr, size),
		uintptr(arg)); errno != 0 {
		return advised(errno)
	}
	return nil
}

// absent: neither edition is there.
func absent() bool {
	return !has("/proc/sys/net/ipv4/tcp_available_congestion_control", "dalbe_cdg")
}

func has(path, word string) bool {
	text, err := os.ReadFile(path)
	for i := 0; err == nil && i+len(word) <= len(text); i++ {
		if string(text[i:i+len(word)]) == word {
			return true
		}
	}
	return false
}

var advice = map[syscall.Errno]string{
	syscall.ENOENT:      "there is neither the module nor the BPF edition: sudo modprobe tcp_dalbe_cdg",
	syscall.ENOPROTOOPT: "the socket uses none of dalbe's congestion controls: SetGoal selects one",
	syscall.ETIME:       "the deadline has passed",
	syscall.ENODATA:     "there is no goal to update",
	syscall.EOVERFLOW:   "the size or the time is too large",
	syscall.EINVAL:      "a value is out of range, or the module is of another version",
	syscall.EOPNOTSUPP:  "the socket is not TCP, or Multipath TCP",
	syscall.EPERM:       "a security module, a BPF program or a list of the administrator's forbids it",
}

func advised(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) && advice[errno] != "" {
		return fmt.Errorf("dalbe: %w: %s", err, advice[errno])
	}
	return fmt.Errorf("dalbe: %w", err)
}

// on calls f with the descriptor of conn, which stays open meanwhile.
func on(conn syscall.Conn, f func(fd uintptr) error) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err = raw.Control(func(fd uintptr) { failed = f(fd) }); err != nil {
		return err
	}
	return failed
}

func attach(fd uintptr) error {
	var name [16]byte
	length := uint32(len(name))
	_, _, errno := syscall.Syscall6(syscall.SYS_GETSOCKOPT, fd, syscall.IPPROTO_TCP, tcpCongestion,
		uintptr(unsafe.Pointer(&name)), uintptr(unsafe.Pointer(&length)), 0)
	if errno == 0 && string(name[:6]) == "dalbe_" {
		return nil
	}
	if err := syscall.SetsockoptString(int(fd), syscall.IPPROTO_TCP, tcpCongestion, "dalbe_cdg"); err != nil {
		return advised(err)
	}
	return nil
}

// NewJob returns a number for a job: one goal for several connections.
func NewJob() uint32 {
	var raw [4]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return uint32(os.Getpid())
	}
	return binary.LittleEndian.Uint32(raw[:]) | 1
}

// SetGoal has so many bytes acknowledged within that time from now.
func SetGoal(conn syscall.Conn, bytes uint64, within time.Duration) error {
	return Goal{Bytes: bytes, Within: within}.Set(conn)
}

// Set gives conn the goal, and dalbe_cdg where it has no congestion control of dalbe's yet.
func (g Goal) Set(conn syscall.Conn) error {
	if g.Within <= 0 {
		return advised(syscall.ETIME)
	}
	request := goal{flags: goalRelative, bytes: g.Bytes, deadline: uint64(g.Within), job: g.Job}
	if g.Update {
		request.flags |= goalUpdate
	}
	if g.Each {
		request.flags |= goalEach
	}
	return on(conn, func(fd uintptr) error {
		if err := attach(fd); err != nil {
			return err
		}
		if g.After != 0 {
			after := params{fd: int32(fd), flags: paramAfter, after: uint32(g.After - 1)}
			if err := ask(fd, nrParams, unsafe.Pointer(&after), unsafe.Sizeof(after)); err != nil {
				return err
			}
		}
		request.fd = int32(fd)
		return ask(fd, nrGoal, unsafe.Pointer(&request), unsafe.Sizeof(request))
	})
}

// SetScavenger has conn take what others leave, and beside them this part of a usual share, 0.001
// to 1; 0: as net.dalbe.wmin_ppm says.
func SetScavenger(conn syscall.Conn, weight float64) error {
	request := params{flags: paramController, controller: controllerWeight}
	if weight != 0 {
		request.flags |= paramWmin
		request.wmin = uint32(weight*1e6 + 0.5)
	}
	return on(conn, func(fd uintptr) error {
		if err := attach(fd); err != nil {
			return err
		}
		request.fd = int32(fd)
		return ask(fd, nrParams, unsafe.Pointer(&request), unsafe.Sizeof(request))
	})
}

// SetGroup shares what is known of a path with all connections of this number; 0: with none.
func SetGroup(conn syscall.Conn, number uint32) error {
	return on(conn, func(fd uintptr) error {
		if err := attach(fd); err != nil {
			return err
		}
		request := grouping{fd: int32(fd), group: number}
		return ask(fd, nrGroup, unsafe.Pointer(&request), unsafe.Sizeof(request))
	})
}

// Clear forgets the goal.
func Clear(conn syscall.Conn) error {
	return on(conn, func(fd uintptr) error {
		request := clearing{fd: int32(fd)}
		return ask(fd, nrClear, unsafe.Pointer(&request), unsafe.Sizeof(request))
	})
}

// GetState tells what conn is doing.
func GetState(conn syscall.Conn) (State, error) {
	names := []string{"no goal", "waiting", "on track", "infeasible", "late", "done"}
	var s state
	err := on(conn, func(fd uintptr) error {
		s.fd = int32(fd)
		return ask(fd, nrState, unsafe.Pointer(&s), unsafe.Sizeof(s))
	})
	if err != nil {
		return State{}, err
	}
	status := "unknown"
	if int(s.status) < len(names) {
		status = names[s.status]
	}
	if s.status == 0 && s.controller == controllerWeight {
		status = "scavenger"
	}
	return State{Status: status, GoalBytes: s.goalBytes, BytesDone: s.bytesDone,
		TimeLeft: time.Duration(s.timeLeft), Rate: s.rate, Target: s.target,
		W: float64(s.w) / 1e6, Contended: s.regime == 3, Job: s.job, Group: s.group}, nil
}
