package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/ovnctl/ovnctl/pkg/pcap"
)

// A textInput is text to read line by line: a file, a pipe or a terminal.
type textInput struct {
	io.Reader
	name string
	file *os.File // nil if the input is not an OS file
}

const (
	// maxLine is the longest line, in bytes. Longer lines are split into pieces of that size; nothing is lost.
	maxLine = 1 << 20
	// ahead is how much of a pipe is read before decoding, in bytes: its flows show what the tables mean.
	ahead = 4 << 20
	// pause is how long a pipe may be silent before pending input is written.
	pause = 200 * time.Millisecond
)

// openText opens a file, or standard input for an empty name or "-".
func openText(name string, stdin io.Reader) (*textInput, error) {
	if name == "" || name == "-" {
		f, _ := stdin.(*os.File)
		return &textInput{Reader: stdin, name: "standard input", file: f}, nil
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(name, "=, ") {
		err = fmt.Errorf("%w\nhint: give a file, or text by standard input: echo 'TEXT' | ovnctl decode", err)
	}
	if err != nil {
		return nil, usageError{err}
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close()
		return nil, usageError{fmt.Errorf("%s is a directory\nhint: read a capture with --offline %[1]s", name)}
	}
	return &textInput{Reader: f, name: name, file: f}, nil
}

// Close closes the file, if one was opened.
func (t *textInput) Close() error {
	if t.file != nil && t.file != os.Stdin {
		return t.file.Close()
	}
	return nil
}

func (t *textInput) terminal() bool { return t.file != nil && term.IsTerminal(int(t.file.Fd())) }

// rewind returns to the start of the input, if it can be read twice.
func (t *textInput) rewind(start int64) bool {
	if t.file == nil {
		return false
	}
	_, err := t.file.Seek(start, io.SeekStart)
	return err == nil
}

// begin peeks at the first bytes of the input, fewer if it is shorter.
func (t *textInput) begin(n int) []byte {
	if start, ok := t.regular(); ok {
		b := make([]byte, n)
		got, _ := t.file.ReadAt(b, start)
		return b[:got]
	}
	r := bufio.NewReaderSize(t.Reader, 1<<16)
	t.Reader = r
	b, _ := r.Peek(n)
	return b
}

// packets calls decode with a line for each packet of a capture file.
func (t *textInput) packets(ctx context.Context, decode func(line string) error) error {
	r, err := pcap.NewReader(bufio.NewReaderSize(t.Reader, 1<<16))
	if err != nil {
		return unknownError{fmt.Errorf("%s: %w", t.name, err)}
	}
	for n := 0; ; n++ {
		line, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return unknownError{fmt.Errorf("%s: after %d packets: %w", t.name, n, err)}
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if err := decode(line); err != nil {
			return err
		}
	}
}

// compressed returns the program that decompresses a file; empty for others.
func compressed(begin []byte) string {
	for magic, tool := range map[string]string{"\x1f\x8b": "zcat", "(\xb5/\xfd": "zstdcat", "\xfd7zX": "xzcat", "BZh": "bzcat"} {
		if strings.HasPrefix(string(begin), magic) {
			return tool
		}
	}
	return ""
}

// each calls decode with every line, without its line break; more means another line is ready. First it calls learn
// with every line of a file, or with the lines a pipe has ready, then learned; whole means that was all.
func (t *textInput) each(ctx context.Context, learn func(string), learned func(whole bool), decode func(line string, more bool) error) error {
	if start, ok := t.regular(); ok {
		r := newLineReader(t)
		for {
			line, err := r.next()
			if err != nil {
				break // the second reading will report it
			}
			learn(line)
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if !t.rewind(start) {
			return unknownError{fmt.Errorf("%s: cannot be read again", t.name)}
		}
		learned(true)
		r = newLineReader(t)
		for {
			line, err := r.next()
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return unknownError{fmt.Errorf("%s: %w", t.name, err)}
			case ctx.Err() != nil:
				return ctx.Err()
			}
			if err := decode(line, true); err != nil {
				return err
			}
		}
	}
	return t.stream(ctx, learn, learned, decode)
}

// regular reports whether the input is a file that can be read twice, and returns
// where it begins.
func (t *textInput) regular() (int64, bool) {
	if t.file == nil {
		return 0, false
	}
	info, err := t.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	start, err := t.file.Seek(0, io.SeekCurrent)
	return start, err == nil
}

// stream implements each for a pipe.
func (t *textInput) stream(ctx context.Context, learn func(string), learned func(whole bool), decode func(line string, more bool) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lines := make(chan string, 256)
	var failure error
	go func() {
		defer close(lines)
		r := newLineReader(t)
		for {
			line, err := r.next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					failure = unknownError{fmt.Errorf("%s: %w", t.name, err)}
				}
				return
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	var held []string
	size := 0
	silence := time.NewTimer(pause)
	if !silence.Stop() {
		<-silence.C
	}
wait:
	for size < ahead {
		select {
		case line, ok := <-lines:
			if !ok {
				break wait
			}
			learn(line)
			held = append(held, line)
			size += len(line) + 16
			silence.Reset(pause)
		case <-silence.C:
			break wait
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	learned(false)
	for i, line := range held {
		if err := decode(line, i < len(held)-1); err != nil {
			return err
		}
	}
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return failure
			}
			if err := decode(line, len(lines) > 0); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A lineReader cuts an input into lines of a bounded length.
type lineReader struct{ *bufio.Reader }

func newLineReader(r io.Reader) lineReader { return lineReader{bufio.NewReaderSize(r, 1<<16)} }

// next returns the next line without its line break, or a piece of an overlong line.
func (r lineReader) next() (string, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(long)+len(part) < maxLine:
			long = append(long, part...)
			continue
		case err != nil && !errors.Is(err, bufio.ErrBufferFull) && len(long)+len(part) == 0:
			return "", err
		}
		part = bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r"))
		if long == nil {
			return string(part), nil
		}
		return strings.TrimSuffix(string(append(long, part...)), "\r"), nil
	}
}
