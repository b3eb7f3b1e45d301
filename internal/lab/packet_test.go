package lab

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
)

func TestParsePacket(t *testing.T) {
	echo := append([]byte{0x45, 0, 0, 32, 0, 0, 0, 0, 64, protoICMP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}, echoRequest(false, 0x70008, []byte("0123"))...)
	p, ok := parsePacket(echo)
	if !ok || p.src != netip.MustParseAddr("10.0.0.1") || p.dst != netip.MustParseAddr("10.0.0.2") || !isEcho(p, echoRequest4, echoRequest6) || p.seq != 0x70008 || string(p.payload) != "0123" {
		t.Errorf("echo request: %+v, %v", p, ok)
	}
	if sum := checksum(echo[20:]); sum != 0 {
		t.Errorf("checksum over a message with its checksum: %#x, want 0", sum)
	}
	unreachable := append([]byte{0x45, 0, 0, 60, 0, 0, 0, 0, 64, protoICMP, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1, 3, 3, 0, 0, 0, 0, 0, 0}, echo...)
	p, _ = parsePacket(unreachable)
	if q, ok := p.quoted(); !ok || q.seq != 0x70008 || q.dst != netip.MustParseAddr("10.0.0.2") {
		t.Errorf("quoted: %+v, %v", q, ok)
	}
	for n := range echo[:27] {
		if p, ok := parsePacket(echo[:n]); ok {
			t.Errorf("%d bytes are read as %+v", n, p)
		}
	}
}

func TestDebianMirror(t *testing.T) {
	for _, tt := range []struct{ file, text, mirror, keyring string }{
		{"sources.list", "# a comment\ndeb http://security.example.org/debian-security trixie-security main\ndeb [arch=amd64 signed-by=/k.gpg] https://mirror.example.org/debian/ trixie main\n", "https://mirror.example.org/debian/", "/k.gpg"},
		{"sources.list", "deb http://mirror.example.org/debian trixie main\n", "http://mirror.example.org/debian", ""},
		{"sources.list.d/debian.sources", "Types: deb\nURIs: http://security.example.org/debian-security\nSuites: x\nSigned-By: /a.gpg\n\nTypes: deb\nEnabled: no\nURIs: http://off.example.org/debian\n\nTypes: deb\nURIs: http://mirror.example.org/debian\nSuites: x\nSigned-By: /b.gpg\n", "http://mirror.example.org/debian", "/b.gpg"},
		{"sources.list.d/other.sources.disabled", "Types: deb\nURIs: http://mirror.example.org/debian\n", "", ""},
		{"sources.list.d/other.list", "deb http://other.example.org/repo x main\n", "", ""},
	} {
		apt := t.TempDir()
		if err := os.MkdirAll(filepath.Join(apt, "sources.list.d"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(apt, tt.file), []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		mirror, keyring, err := debianMirror(apt)
		if mirror != tt.mirror || keyring != tt.keyring || (err == nil) != (tt.mirror != "") {
			t.Errorf("%s %q: %q, %q, %v; want %q, %q", tt.file, tt.text, mirror, keyring, err, tt.mirror, tt.keyring)
		}
	}
}

// A packet from the wire is never trusted to be as long as it says.
func FuzzParsePacket(f *testing.F) {
	echo := append([]byte{0x45, 0, 0, 40, 0, 0, 0, 0, 64, protoICMP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}, echoRequest(false, 7, []byte("0123"))...)
	f.Add(echo)
	f.Add(append([]byte{0x45, 0, 0, 40, 0, 0, 0, 0, 64, protoICMP, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1, 3, 3, 0, 0, 0, 0, 0, 0}, echo...))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, ok := parsePacket(b)
		if !ok {
			return
		}
		if !p.src.IsValid() || !p.dst.IsValid() {
			t.Errorf("%x: read without addresses: %+v", b, p)
		}
		if q, ok := p.quoted(); ok && q.proto == 0 && q.payload != nil {
			t.Errorf("%x: quotes %+v", b, q)
		}
	})
}
