package ovsdbtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A PKI holds what ovs-pki(8) makes: two CAs, and certificates of either.
type PKI struct {
	Dir string
	t   testing.TB
}

// NewPKI initialises a PKI.
func NewPKI(t testing.TB) *PKI {
	t.Helper()
	p := &PKI{Dir: Dir(t), t: t}
	p.run("init")
	return p
}

// CA returns the path of a CA's certificate; the class is switch or controller.
func (p *PKI) CA(class string) string {
	return filepath.Join(p.Dir, "pki", class+"ca", "cacert.pem")
}

// CAKey returns the path of a CA's private key.
func (p *PKI) CAKey(class string) string {
	return filepath.Join(p.Dir, "pki", class+"ca", "private", "cakey.pem")
}

// Sign makes a key and a certificate for the name and returns their paths.
func (p *PKI) Sign(name, class string) (key, certificate string) {
	p.t.Helper()
	p.run("-u", "req+sign", name, class)
	return filepath.Join(p.Dir, name+"-privkey.pem"), filepath.Join(p.Dir, name+"-cert.pem")
}

func (p *PKI) run(args ...string) {
	p.t.Helper()
	cmd := exec.Command("ovs-pki", append([]string{"-b", "-d", filepath.Join(p.Dir, "pki"), "-l", filepath.Join(p.Dir, "log")}, args...)...)
	cmd.Dir = p.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("ovs-pki %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// Port returns a TCP port that nothing listens on; host is 127.0.0.1 or ::1. It is below the ephemeral ports,
// which a client might take before the server does.
func Port(t testing.TB, host string) int {
	t.Helper()
	for range 100 {
		port := 10000 + rand.IntN(20000)
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatalf("no port is free on %s", host)
	return 0
}

// Address returns HOST:PORT of such a port, an IPv6 host in brackets.
func Address(t testing.TB, host string) string {
	t.Helper()
	return net.JoinHostPort(host, strconv.Itoa(Port(t, host)))
}

// Passive returns the remote on which a server listens for clients of scheme:address.
func Passive(scheme, address string) string {
	host, port, _ := net.SplitHostPort(address)
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("p%s:%s:%s", scheme, port, host)
}
