// SPDX-License-Identifier: GPL-2.0-only

package dalbe

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// TestABI compares sizes, commands and places of members with the header.
func TestABI(t *testing.T) {
	var s state
	numbers := []uintptr{
		unsafe.Sizeof(goal{}), request(nrGoal, unsafe.Sizeof(goal{})),
		unsafe.Sizeof(s), request(nrState, unsafe.Sizeof(s)),
		unsafe.Sizeof(clearing{}), request(nrClear, unsafe.Sizeof(clearing{})),
		unsafe.Sizeof(params{}), request(nrParams, unsafe.Sizeof(params{})),
		unsafe.Sizeof(grouping{}), request(nrGroup, unsafe.Sizeof(grouping{})),
		unsafe.Offsetof(goal{}.job), unsafe.Offsetof(params{}.wmin), unsafe.Offsetof(params{}.after),
		unsafe.Offsetof(s.goalBytes), unsafe.Offsetof(s.timeLeft), unsafe.Offsetof(s.rate),
		unsafe.Offsetof(s.w), unsafe.Offsetof(s.regime), unsafe.Offsetof(s.group),
		unsafe.Offsetof(s.job),
	}
	source := "#include <stddef.h>\n#include <stdio.h>\n#include <dalbe_ctl.h>\nint main(void) {\n"
	for _, call := range []string{"goal SET_GOAL", "state GET_STATE", "clear CLEAR_GOAL",
		"params SET_PARAMS", "group SET_GROUP"} {
		var name, command string
		fmt.Sscan(call, &name, &command)
		source += fmt.Sprintf("printf(\"%%zu %%lu \", sizeof(struct dalbe_%s), (unsigned long)DALBE_IOC_%s);\n",
			name, command)
	}
	for _, member := range []string{"goal, job", "params, wmin_ppm", "params, after_deadline",
		"state, goal_bytes", "state, time_left_ns", "state, rate_Bps", "state, w_ppm",
		"state, regime", "state, group", "state, job"} {
		source += fmt.Sprintf("printf(\"%%zu \", offsetof(struct dalbe_%s));\n", member)
	}
	dir := t.TempDir()
	file, program := filepath.Join(dir, "abi.c"), filepath.Join(dir, "abi")
	if err := os.WriteFile(file, []byte(source+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("cc", "-I../..", file, "-o", program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	said, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimSuffix(fmt.Sprintln(numbers), "\n"); "["+strings.TrimSpace(string(said))+"]" != want {
		t.Fatalf("the header has [%s], we have %s", said, want)
	}
}

// TestConnection needs either edition, and is what tests/bpf/guest.sh runs: of a sink.
func TestConnection(t *testing.T) {
	address := os.Getenv("DALBE_TEST_SINK")
	if address == "" {
		t.Skip("DALBE_TEST_SINK=ADDRESS:PORT is not set")
	}
	tcp, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	conn := tcp.(*net.TCPConn)
	check := func(what string, err error, good func(State) bool) {
		t.Helper()
		s, stateErr := GetState(conn)
		if err != nil || stateErr != nil || !good(s) {
			t.Errorf("%s: %v, %v, %+v", what, err, stateErr, s)
		}
	}
	check("a goal", Goal{Bytes: 300000, Within: 90 * time.Second, After: AfterScavenger}.Set(conn),
		func(s State) bool {
			return s.Status == "on track" && s.GoalBytes == 300000 &&
				s.TimeLeft > 80*time.Second && s.TimeLeft <= 90*time.Second
		})
	check("an update", Goal{Bytes: 600000, Within: time.Minute, Update: true}.Set(conn),
		func(s State) bool { return s.GoalBytes == 600000 })
	if _, err = conn.Write(make([]byte, 600000)); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 600; i++ {
		if s, _ := GetState(conn); s.Status == "done" {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	check("done", nil, func(s State) bool { return s.Status == "done" && s.BytesDone == 600000 })
	check("cleared", Clear(conn), func(s State) bool { return s.GoalBytes == 0 })
	check("a group", SetGroup(conn, 7), func(s State) bool { return s.Group == 7 })
	check("a scavenger", SetScavenger(conn, 0.3), func(s State) bool { return s.Status == "scavenger" })
	if err = SetGoal(conn, 0, time.Minute); err == nil || !strings.Contains(err.Error(), "out of range") {
		t.Errorf("no bytes: %v", err)
	}
	if err = SetGoal(conn, 1, -time.Minute); err == nil || !strings.Contains(err.Error(), "has passed") {
		t.Errorf("in the past: %v", err)
	}
}
