package node

import (
	"bytes"
	"sync"

	"github.com/klauspost/compress/s2"

	"github.com/ovnctl/ovnctl/pkg/decompress"
)

// A Shelf keeps what nodes on other hosts print, packed: the first MiB in memory, the rest in a temporary file, as there may be hundreds of
// nodes. Where there is no room for a file all of it is in memory. The zero value is ready, and safe for concurrent use.
type Shelf struct {
	mu     sync.Mutex
	held   int // bytes in memory
	file   *decompress.File
	end    int64 // of the file
	noFile bool
}

// mostHeld is how much a Shelf holds in memory.
const mostHeld = 1 << 20

// ShelveOn has what a node on another host prints kept on a Shelf; without one it is in memory.
func ShelveOn(h Host, s *Shelf) {
	if r, ok := h.(*remote); ok {
		r.shelf = s
	}
}

// Close drops what is kept. Who asks for it then gets an error.
func (s *Shelf) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// A shelved text is packed, in memory or in a file.
type shelved struct {
	packed []byte
	file   *decompress.File // instead of packed
	at     int64
	size   int
}

// keep keeps a text. A nil Shelf keeps it in memory.
func (s *Shelf) keep(text []byte) shelved {
	packed := s2.Encode(nil, text)
	here := shelved{packed: packed, size: len(packed)}
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if there, ok := s.away(packed); ok {
			return there
		}
		s.held += len(packed)
	}
	here.packed = bytes.Clone(packed) // the buffer of the packer is larger
	return here
}

// away writes to the file, which is made when it is needed.
func (s *Shelf) away(packed []byte) (shelved, bool) {
	if s.held+len(packed) <= mostHeld || s.noFile {
		return shelved{}, false
	}
	if s.file == nil {
		var err error
		if s.file, err = decompress.Spool(); err != nil {
			s.file, s.noFile = nil, true
			return shelved{}, false
		}
	}
	if _, err := s.file.WriteAt(packed, s.end); err != nil { // the disk is full: others may still fit
		return shelved{}, false
	}
	text := shelved{file: s.file, at: s.end, size: len(packed)}
	s.end += int64(len(packed))
	return text, true
}

// text returns what was kept.
func (t shelved) text() ([]byte, error) {
	packed := t.packed
	if t.file != nil {
		packed = make([]byte, t.size)
		if _, err := t.file.ReadAt(packed, t.at); err != nil {
			return nil, err
		}
	}
	return s2.Decode(nil, packed)
}
