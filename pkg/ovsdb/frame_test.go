package ovsdb

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestEndlessString cuts a string that a server never ends long before the bound of a reply, and keeps one that it may
// well send.
func TestEndlessString(t *testing.T) {
	var f framer
	part := bytes.Repeat([]byte("x"), 64<<10)
	if _, _, err := f.add([]byte(`{"id":1,"result":"`), 1<<30); err != nil {
		t.Fatal(err)
	}
	read := 0
	var err error
	for read = 0; err == nil && read < 1<<30; read += len(part) {
		_, _, err = f.add(part, 1<<30)
	}
	if !errors.Is(err, ErrTooLarge) || read > mostString+1<<20 {
		t.Errorf("%d bytes, %v", read, err)
	}
	f = framer{}
	long := `{"id":1,"error":null,"result":["` + strings.Repeat("y", 1<<20) + `","` + strings.Repeat("z", mostString-1<<20) + `"]}`
	for i := 0; i < len(long); i += len(part) {
		whole, _, err := f.add([]byte(long[i:min(len(long), i+len(part))]), 1<<30)
		if err != nil || (whole != nil) != (i+len(part) >= len(long)) {
			t.Fatalf("at %d: %v, %v", i, whole != nil, err)
		}
	}
}

// TestScreen cuts what a server says to what a person reads.
func TestScreen(t *testing.T) {
	err := remoteError([]byte(`{"error":"` + strings.Repeat("é", 1<<20) + `","details":"` + strings.Repeat("d", 1<<20) + `"}`))
	if n := len(err.Error()); n > 1100 {
		t.Errorf("an error of %d bytes", n)
	}
	op := &OperationError{Name: "constraint violation", Details: strings.Repeat("d", 1<<20)}
	if n := len(op.Error()); n > 600 {
		t.Errorf("an error of %d bytes", n)
	}
}
