package main

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
)

// However a connection cuts what the other end says, each request is replied to and none is shown.
func TestReplier(t *testing.T) {
	t.Parallel()
	const said = "verified\n" + askedReply + "kept\n\x00re" + askedReply + "end\x00"
	for name, cut := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "bytes": iotest.OneByteReader,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replies, reply := io.Pipe()
			var shown bytes.Buffer
			r := &replier{to: &shown, reply: reply}
			if _, err := io.CopyBuffer(struct{ io.Writer }{r}, struct{ io.Reader }{cut(bytes.NewReader([]byte(said)))}, make([]byte, 16)); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len("y\ny\n"))
			if _, err := io.ReadFull(replies, got); err != nil || string(got) != "y\ny\n" {
				t.Errorf("replies %q, %v", got, err)
			}
			if want := "verified\nkept\n\x00reend"; shown.String() != want {
				t.Errorf("shown %q, want %q", shown.String(), want)
			}
		})
	}
}
