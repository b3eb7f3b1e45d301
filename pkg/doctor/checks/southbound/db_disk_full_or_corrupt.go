package southbound

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

const (
	noRoom    = 1 << 20  // a server with less cannot go on for long
	largeFile = 64 << 20 // from when on a file that could be much smaller is told of
)

var DBDiskFullOrCorrupt = &doctor.Check{
	Name:     "db-disk-full-or-corrupt",
	Category: "raft",
	Doc: `A database's disk is full, or its file is damaged

A server that cannot write its file takes no changes; one whose file is damaged
does not start again, or loses what came after.`,
	Run: func(p *doctor.Pass) {
		all := p.Servers()
		if len(all) == 0 {
			p.Skip(doctor.ServersElsewhere)
		}
		for _, s := range all {
			if s.File == "" {
				p.Unknown(s.Object(), fmt.Errorf("where the file of %s lies on %s is not known: its command line could not be read", s.Database, s.Host.Name))
				continue
			}
			damaged := damagedFile(p, &s)
			fullDisk(p, &s, damaged)
		}
	},
}

// damagedFile looks at the file itself.
func damagedFile(p *doctor.Pass, s *doctor.Server) bool {
	says := damage(s.Host, s.File)
	if says != "" && s.Liveness == snapshot.Answers {
		// It may have been read in the midst of a write.
		again, err := p.Again()
		if err != nil || again.Host(s.Host.Name) == nil {
			return false
		}
		says = damage(again.Host(s.Host.Name), s.File)
	}
	if says == "" {
		return false
	}
	f := doctor.Finding{
		Object:   s.Object(),
		Also:     s.Concerns(),
		Title:    fmt.Sprintf("the file of %s on %s is damaged", s.Database, s.Host.Name),
		Evidence: []doctor.Evidence{{Source: doctor.File(s.File, 0), Says: says}, {Source: doctor.Other("control socket " + s.Control), Says: string(s.Liveness)}},
		Cause:    "the disk was full or failed, the host lost power, or somebody wrote into the file",
		Effect:   "the server does not start from it, or what came after the damage is lost",
		Next: fmt.Sprintf("keep a copy of %s; a member of a cluster: stop it, move the file aside, let it join again; a server alone: restore a backup, or what `ovsdb-tool show-log %s` can still read",
			s.File, s.File),
	}
	if s.Liveness == snapshot.Answers {
		f.Next = fmt.Sprintf("the server still has all rows in memory: first `ovsdb-client backup unix:%s/%s.sock %s > COPY`, then `%s` writes the file anew",
			doctor.RunDir(s.Host), s.Control, s.Database, s.ControlCommand("ovsdb-server/compact "+s.Database))
		f.Effect = "what the server writes now is lost with its next start, or it does not start"
	}
	p.Report(f)
	return true
}

// damage is what of a database's file cannot be read; empty: nothing, or it is too
// large to look at.
func damage(h *snapshot.Host, file string) string {
	snapshot, err := h.DatabaseFile(file)
	switch {
	case err == nil:
		return snapshot.Damage()
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), strings.Contains(err.Error(), "larger than"),
		strings.Contains(err.Error(), "has not joined"), strings.Contains(err.Error(), "not in this source"):
		return ""
	}
	return err.Error()
}

// fullDisk looks at the room that the server has.
func fullDisk(p *doctor.Pass, s *doctor.Server, damaged bool) {
	f := doctor.Finding{Object: s.Object(), Also: s.Concerns(), Effect: "the server takes no changes: " + notServedEffect(s.Database)}
	failed := ""
	if s.Liveness == snapshot.Answers {
		if says, err := s.Host.Control(s.Control, "ovsdb-server/get-db-storage-status", s.Database); err == nil && !strings.HasPrefix(strings.TrimSpace(says), "status: ok") {
			failed = strings.TrimSpace(says)
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("ovsdb-server/get-db-storage-status " + s.Database), Says: failed})
		}
	}
	if lines, err := s.Host.LogLines(s.Log); err == nil {
		full := doctor.Recent(lines, p.Now().Add(-10*time.Minute), func(l snapshot.LogLine) bool { return strings.Contains(l.Text, "No space left on device") })
		if len(full) > 0 {
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Log(s.Log), Says: full[len(full)-1].Raw})
		}
	}
	dir := path.Dir(s.File)
	space, err := s.Host.Space(dir)
	if err != nil {
		if failed == "" {
			p.Unknown(s.Object(), fmt.Errorf("the room that %s has: %w", s.File, err))
			return
		}
	} else {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("file system of " + dir), Says: fmt.Sprintf("%s of %s free", snapshot.Bytes(space.Free), snapshot.Bytes(space.Size))})
	}
	size, _ := s.Host.FileSize(s.File)
	small := s.Host.SnapshotSize(s.Server)
	f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.File(s.File, 0), Says: snapshot.Bytes(size)})
	swollen := s.Liveness == snapshot.Answers && size > 4*small
	if swollen && err == nil && space.Free >= small {
		f.Fix = catalog.CompactDatabase.With(s.Database)
	}
	switch {
	case err == nil && space.Free < noRoom:
		f.Title = fmt.Sprintf("the disk of %s on %s is full: %s free", s.Database, s.Host.Name, snapshot.Bytes(space.Free))
		f.Cause = "something filled " + dir + ", the database itself or another file"
		f.Next = "make room there: du -x " + dir + "; then look again: the server goes on by itself, or wants to be started"
	case failed != "" && !damaged:
		f.Title = fmt.Sprintf("the server of %s on %s could not write its file", s.Database, s.Host.Name)
		f.Cause = "the disk was full, failed, or was made read-only"
		f.Next = fmt.Sprintf("mend the disk; then `%s` writes the file anew", s.ControlCommand("ovsdb-server/compact "+s.Database))
	case err == nil && swollen && (space.Free < size || size > largeFile && size > 20*small):
		f.Result = doctor.Warning
		f.Title = fmt.Sprintf("the file of %s on %s takes %s for about %s of rows, and %s are free", s.Database, s.Host.Name, snapshot.Bytes(size), snapshot.Bytes(small), snapshot.Bytes(space.Free))
		f.Cause = "many changes in a short time, or the server does not get to compact its file"
		f.Effect = "the disk fills; then the server takes no changes"
	case err == nil && space.Free < small:
		f.Result = doctor.Warning
		f.Title = fmt.Sprintf("%s on %s has no room to compact its file: %s free, about %s are needed", s.Database, s.Host.Name, snapshot.Bytes(space.Free), snapshot.Bytes(small))
		f.Cause = "the disk is nearly full"
		f.Effect = "the file grows until the disk is full; then the server takes no changes"
		f.Next = "make room there: du -x " + dir
	default:
		return
	}
	p.Report(f)
}
