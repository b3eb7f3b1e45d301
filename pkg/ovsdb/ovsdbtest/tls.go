package ovsdbtest

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
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

// Port returns a TCP port that nothing listens on; host is 127.0.0.1 or ::1.
func Port(t testing.TB, host string) int {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Address returns HOST:PORT of such a port, an IPv6 host in brackets.
func Address(t testing.TB, host string) string {
	t.Helper()
	return net.JoinHostPort(host, fmt.Sprint(Port(t, host)))
}

// Passive returns what a server listens on for clients of scheme:address.
func Passive(scheme, address string) string {
	host, port, _ := net.SplitHostPort(address)
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("p%s:%s:%s", scheme, port, host)
}
