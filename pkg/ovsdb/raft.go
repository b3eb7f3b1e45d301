package ovsdb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A raftLog reads the records of a clustered file, ovsdb(5) "Clustered Format". Committed entries go into the
// snapshot at once; later ones wait, since a new leader may overwrite them.
type raftLog struct {
	snap    *Snapshot
	server  UUID // whose file it is
	commit  uint64
	term    uint64 // of the entry at commit
	alone   bool   // at commit, the cluster is this server
	pending []entry
	left    bool
	b       []byte // buffer for entry text
}

// An entry is one entry of the RAFT log, which may hold neither data nor servers.
type entry struct {
	term    uint64
	data    bool      // [schema or null, transaction or null], in
	record  logRecord // read when it is committed
	servers bool
	alone   bool // the servers are just this one
}

// header parses the header record.
func (l *raftLog) header(r logRecord, in *scanner) (func() error, error) {
	var servers []byte
	commit := func() error { return nil }
	err := in.object(nil, func(key string) (err error) {
		switch key {
		case "server_id":
			l.server, err = in.rawUUID()
		case "prev_term":
			l.term, err = in.unsigned()
		case "prev_index":
			l.commit, err = in.unsigned()
		case "prev_servers":
			servers, err = in.raw()
			servers = bytes.Clone(servers)
		case "prev_data":
			if commit, err = l.snap.clusterTransaction(in, r.at); err != nil {
				err = fmt.Errorf("prev_data: %w", err)
			}
		case "remote_addresses":
			return ErrNotJoined
		default:
			err = in.skip()
		}
		return err
	})
	if err == nil {
		err = in.end()
	}
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if l.server == "" || servers == nil {
		return nil, errors.New("header: no server_id or no prev_servers")
	}
	if l.alone, err = l.isAlone(&scanner{b: servers}); err != nil {
		return nil, fmt.Errorf("header: prev_servers: %w", err)
	}
	return commit, nil
}

// isAlone reports whether servers, an object of UUIDs and addresses, holds only the file's own server.
func (l *raftLog) isAlone(in *scanner) (bool, error) {
	n, self := 0, false
	err := in.object(nil, func(id string) error {
		n++
		self = self || strings.EqualFold(id, string(l.server))
		return in.skip()
	})
	return n == 1 && self, err
}

// record parses any record but the header.
func (l *raftLog) record(r logRecord, in *scanner) (func() error, error) {
	e := entry{record: r}
	var index, commit uint64
	var isEntry, isCommit, left bool
	err := in.object(nil, func(key string) (err error) {
		switch key {
		case "term":
			e.term, err = in.unsigned()
		case "index":
			isEntry = true
			index, err = in.unsigned()
		case "data":
			e.data = true
			err = in.skip()
		case "servers":
			e.servers = true
			e.alone, err = l.isAlone(in)
		case "commit_index":
			isCommit = true
			commit, err = in.unsigned()
		case "note":
			var note string
			note, err = in.str()
			left = note == "left"
		default:
			err = in.skip()
		}
		return err
	})
	if err == nil {
		err = in.end()
	}
	return func() error {
		l.left = l.left || left
		switch {
		case isEntry:
			return l.add(index, e)
		case isCommit:
			return l.commitTo(commit)
		}
		return nil
	}, err
}

// last returns the index of the log's last entry.
func (l *raftLog) last() uint64 { return l.commit + uint64(len(l.pending)) }

// add appends an entry. One with an earlier index replaces that entry and all after it: a new leader did not
// have them.
func (l *raftLog) add(index uint64, e entry) error {
	if index <= l.commit {
		return fmt.Errorf("entry %d would replace a committed one, the last of which is %d", index, l.commit)
	}
	if index > l.last()+1 {
		return fmt.Errorf("entry %d follows entry %d", index, l.last())
	}
	kept := l.pending[:index-l.commit-1]
	term := l.term
	if len(kept) > 0 {
		term = kept[len(kept)-1].term
	}
	if e.term < term {
		return fmt.Errorf("entry %d is of term %d, the one before it of %d", index, e.term, term)
	}
	clear(l.pending[len(kept):])
	l.pending = append(kept, e)
	return nil
}

// commitTo applies the entries up to an index.
func (l *raftLog) commitTo(index uint64) error {
	if index < l.commit {
		return fmt.Errorf("the commit index goes back from %d to %d", l.commit, index)
	}
	if index > l.last() {
		return fmt.Errorf("entry %d is committed, but the last one is %d", index, l.last())
	}
	n := 0
	defer func() { l.pending = slices.Delete(l.pending, 0, n) }()
	for _, e := range l.pending[:index-l.commit] {
		if e.data {
			if err := l.apply(e.record); err != nil {
				return fmt.Errorf("entry %d: %w", l.commit+1, err)
			}
		}
		if e.servers {
			l.alone = e.alone
		}
		l.term = e.term
		l.commit++
		n++
	}
	return nil
}

// apply parses the data of an entry again: its meaning depends on the entries before.
func (l *raftLog) apply(r logRecord) error {
	text := io.NewSectionReader(l.snap.texts, r.at, r.length)
	return r.read(text, &l.b, func(r logRecord, in *scanner) (commit func() error, err error) {
		return commit, in.object(nil, func(key string) (err error) {
			if key != "data" {
				return in.skip()
			}
			commit, err = l.snap.clusterTransaction(in, r.at)
			return err
		})
	})
}

// end handles entries still pending at the end of the log. A single-server cluster needs no majority: what it
// has written is committed.
func (l *raftLog) end() error {
	var err error
	if l.alone && !slices.ContainsFunc(l.pending, func(e entry) bool { return e.servers && !e.alone }) {
		err = l.commitTo(l.last())
	}
	var notices []string
	beyond := 0
	for _, e := range l.pending {
		if e.data {
			beyond++
		}
	}
	switch {
	case beyond == 1:
		notices = append(notices, fmt.Sprintf("1 entry beyond the last known commit, %d, is left out", l.commit))
	case beyond > 1:
		notices = append(notices, fmt.Sprintf("%d entries beyond the last known commit, %d, are left out", beyond, l.commit))
	}
	if l.left {
		notices = append(notices, "the server has left its cluster; the rows are as of then")
	}
	l.snap.notice = strings.Join(notices, "; ")
	return err
}

// unsigned parses a <uint64> of ovsdb(5): the upper half is written as negative numbers.
func (s *scanner) unsigned() (uint64, error) {
	n, err := s.integer()
	return uint64(n), err
}

func (s *scanner) rawUUID() (UUID, error) {
	text, err := s.str()
	if err == nil && !validUUID(text) {
		err = fmt.Errorf("%.40q is not a UUID", text)
	}
	return UUID(strings.ToLower(text)), err
}
