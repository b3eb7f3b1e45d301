//go:build lab

package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// A node loses its uplink, and with it the databases: what watches there says so and what it can still find, takes nothing in the
// databases for cleared, and sees the end of it.
func TestWatchCutOff(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	start := func(args ...string) *transcript {
		args = append([]string{self}, append(args, "-t", "3", "--node-exec", l.Dir+"/enter {hostname}")...)
		cmd := l.Program(ctx, "node1", args...)
		cmd.Env = append(cmd.Env, asOvnctl+"=1")
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = cmd.Stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		s := &transcript{t: t, of: strings.Join(args[1:3], " ")}
		running.Go(func() {
			s.follow(out)
			_ = cmd.Wait()
		})
		return s
	}
	say(t, l, "central", "ovn-nbctl", "lsp-set-enabled", "shop_web-3", "disabled")
	doctor := start("doctor", "--all-nodes", "--watch=5")
	path := start("trace", "shop/client", "shop/web-2", "--watch=5")
	for _, s := range []*transcript{doctor, path} {
		s.wait("watching OVN_Northbound")
		s.wait("watching OVN_Southbound")
	}
	doctor.wait("port-administratively-disabled")

	say(t, l, "node1", "ovs-vsctl", "del-port", "br-ex", "eth0")
	doctor.wait("cannot read OVN_Northbound", "uplink eth0 is not in bridge br-ex")
	path.wait("cannot read OVN_Northbound", "cannot be traced: ")
	time.Sleep(10 * time.Second) // for more looks, which say nothing again
	say(t, l, "node1", "ovs-vsctl", "add-port", "br-ex", "eth0")
	doctor.wait("cleared  uplink eth0 is not in bridge br-ex")
	path.wait("DELIVERED: ")

	for _, said := range []struct {
		by   *transcript
		text string
		most int
	}{{doctor, "cannot read OVN_Northbound", 1}, {doctor, "cleared  ", 1}, {path, "cannot read OVN_Northbound", 1}, {path, "no such logical port", 0}} {
		if n := strings.Count(said.by.text(), said.text); n > said.most {
			t.Errorf("%s says %d times %q:\n%s", said.by.of, n, said.text, said.by.text())
		}
	}
}

// A transcript is what a command has printed so far.
type transcript struct {
	t  *testing.T
	of string

	mu    sync.Mutex
	lines strings.Builder
}

func (s *transcript) follow(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		s.mu.Lock()
		s.lines.WriteString(lines.Text() + "\n")
		s.mu.Unlock()
	}
}

func (s *transcript) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.String()
}

// wait waits until the command has printed all of these.
func (s *transcript) wait(texts ...string) {
	s.t.Helper()
	for deadline := time.Now().Add(lab.Allow(time.Minute)); ; time.Sleep(50 * time.Millisecond) {
		missing := ""
		for _, text := range texts {
			if !strings.Contains(s.text(), text) {
				missing = text
			}
		}
		switch {
		case missing == "":
			return
		case time.Now().After(deadline):
			s.t.Fatalf("%s has not printed %q:\n%s", s.of, missing, s.text())
		}
	}
}
