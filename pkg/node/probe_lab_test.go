//go:build lab

package node

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The filter finds the mark at every even offset, with each of the words, and nothing else: in packets that a raw socket
// sends to this namespace's own loopback.
func TestMarkFilter(t *testing.T) {
	words := []Word{{0xabcdef00, 0xffffff00}, {0x12345678, 0xffffffff}, {0x87654321, 0xffffffff}}
	l := Local(LocalConfig{OVSRunDir: t.TempDir()}).(Prober)
	var mu sync.Mutex
	seen := map[string]int{}
	ear, err := l.Listen(t.Context(), Watch{Words: words, For: time.Minute}, func(f Frame) {
		mu.Lock()
		defer mu.Unlock()
		if f.Out && f.Link == "lo" && f.Data[9] == 253 { // not the errors that come back
			seen[fmt.Sprintf("%d %x", len(f.Data), f.Data[36:])]++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var packets [][]byte
	want := map[string]bool{}
	add := func(size, at int, word uint32, found bool) {
		p := make([]byte, size)
		copy(p, []byte{0x45, 0, 0, 0, byte(len(packets)), 1, 0x40, 0, 64, 253, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1})
		binary.BigEndian.PutUint16(p[2:], uint16(size))
		if at > 0 {
			binary.BigEndian.PutUint32(p[at:], word)
		}
		packets = append(packets, p)
		if found {
			want[fmt.Sprintf("%d %x", size, p[36:])] = true
		}
	}
	for at := 36; at < markEnd; at += 2 {
		add(300, at, 0xabcdef07, true)
		add(at+4, at, words[1+at/2%2].Value, true)
	}
	add(300, 0, 0, false)
	add(300, 101, 0x12345678, false)
	add(300, 100, 0x12345679, false)
	add(300, 100, 0xabcdee07, false)
	add(40, 0, 0, false)
	if err := l.Send(t.Context(), Sending{Packets: packets}); err != nil {
		t.Fatal(err)
	}
	if err := ear.Stop(); err != nil {
		t.Fatal(err)
	}
	for p := range want {
		if seen[p] != 1 {
			t.Errorf("seen %d times: %s", seen[p], p)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("%d packets seen, want %d", len(seen), len(want))
	}
}

// Before Linux 6.7 a socket has 20 KiB for what is attached to it.
func TestMarkFilterSize(t *testing.T) {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // it ends with the goroutine, and the namespace with it
		failed <- func() error {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return err
			}
			err := os.WriteFile("/proc/sys/net/core/optmem_max", []byte("20480"), 0)
			if err != nil && !errors.Is(err, os.ErrNotExist) { // the same in all namespaces, before Linux 6.8
				return err
			}
			e := &ear{}
			if err := e.open(markFilter([]Word{{0xabcdef00, 0xffffff00}, {0x92345678, 0xffffffff}, {0x87654321, 0xffffffff}}, 8, markEnd)); err != nil {
				return err
			}
			return e.file.Close()
		}()
	}()
	if err := <-failed; err != nil {
		t.Error(err)
	}
}

// tcpdump's filter finds what ours does; of the loopback it shows what is received. The node here is this host, behind a prefix that runs the command.
func TestListenByTcpdump(t *testing.T) {
	if _, err := exec.LookPath("tcpdump"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/enter", []byte("#!/bin/sh\nshift\nexec \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	h, err := Remote(RemoteConfig{Hostname: "here", Prefix: dir + "/enter {hostname}"})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]int{}
	ear, err := h.(Prober).Listen(t.Context(), Watch{Words: []Word{{0xabcdef00, 0xffffff00}, {0x12345678, 0xffffffff}}, Pods: []string{"veth1"}, For: time.Minute}, func(f Frame) {
		mu.Lock()
		defer mu.Unlock()
		if f.Data[0] == 0x60 && f.Data[6] == 253 || f.Data[9] == 253 { // not the errors that come back
			seen[fmt.Sprintf("%s %v %#04x", f.Link, f.Out, f.Protocol)]++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if ear.Unread["veth1"] == "" {
		t.Error("tcpdump is said to see into a pod")
	}
	v4, other := make([]byte, 100), make([]byte, 100)
	copy(v4, []byte{0x45, 0, 0, 100, 1, 1, 0x40, 0, 64, 253, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1})
	copy(other, v4)
	binary.BigEndian.PutUint32(v4[50:], 0xabcdef42)
	v6 := make([]byte, 140)
	v6[0], v6[5], v6[6], v6[7], v6[23], v6[39] = 0x60, 100, 253, 64, 1, 1
	binary.BigEndian.PutUint32(v6[130:], 0x12345678)
	if err := Local(LocalConfig{OVSRunDir: dir}).(Prober).Send(t.Context(), Sending{Packets: [][]byte{v4, other, v6}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // tcpdump discards what it has not read yet when it is stopped
	if err := ear.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"lo false 0x0800", "lo false 0x86dd"} {
		if seen[p] != 1 {
			t.Errorf("%s: seen %d times", p, seen[p])
		}
		delete(seen, p)
	}
	if len(seen) > 0 {
		t.Errorf("also seen: %v", seen)
	}
}

// What a node prints is not trusted: a listener that does not listen, or prints nonsense, is an error.
func TestListenFails(t *testing.T) {
	for name, script := range map[string]string{
		"nothing there":  "shift; PATH=/nonexistent exec /bin/sh -c 'cat >/dev/null; echo neither >&2; exit 127'",
		"no JSON":        "cat >/dev/null & echo '{nonsense'; wait",
		"another format": "cat >/dev/null & head -c 24 /dev/zero; wait",
		"a long line":    "cat >/dev/null & printf '{'; head -c 200000 /dev/zero; wait",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(dir+"/enter", []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			h, err := Remote(RemoteConfig{Hostname: "here", Prefix: dir + "/enter {hostname}", Timeout: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			r := h.(*remote)
			r.whole = gathered{done: true, rest: r.shelf.shelve(map[string]part{"addr": {out: []byte("[]")}, "route4": {}, "route6": {}, "rule4": {}, "rule6": {}, "neigh": {}, "sysctl": {}})}
			if ear, err := r.Listen(t.Context(), Watch{Words: []Word{{1, 1}}, For: 5 * time.Second}, func(Frame) {}); err == nil {
				_ = ear.Stop()
				t.Error("no error")
			} else {
				t.Log(err)
			}
		})
	}
}
