package southbound

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

const (
	noRoom    = 1 << 20  // with less free space a server soon stops
	largeFile = 64 << 20 // a larger file that compacting would shrink much is reported
)

var DBDiskFullOrCorrupt = &doctor.Check{
	Name:     "db-disk-full-or-corrupt",
	Category: "raft",
	Doc: `The disk of a database is full, or its file is damaged

A server that cannot write its file accepts no changes; one with a damaged file
does not start again, or loses all changes after the damage.`,
	Run: func(p *doctor.Pass) {
		all := p.Servers()
		if len(all) == 0 {
			p.Skip(doctor.ServersElsewhere)
		}
		for _, s := range all {
			if s.File == "" {
				p.Unknown(s.Object(), fmt.Errorf("the path of the file of %s on %s is unknown: the server's command line could not be read", s.Database, s.Host.Name))
				continue
			}
			fullDisk(p, &s, damagedFile(p, &s))
		}
	},
}

// damagedFile reports damage in the file itself.
func damagedFile(p *doctor.Pass, s *doctor.Server) bool {
	says := damage(s.Host, s.File)
	if says != "" && s.Liveness == snapshot.Answers {
		// It may have been read in the middle of a write.
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
		Also:     s.Also(),
		Reason:   "damaged",
		Title:    fmt.Sprintf("the file of %s on %s is damaged", s.Database, s.Host.Name),
		Evidence: []doctor.Evidence{doctor.File(s.File, 0).On(s.Host.Name).Says(says), controlSocket(s).Says(string(s.Liveness))},
		Cause:    "the disk was full or failed, the host lost power, or something else wrote to the file",
		Effect:   "the server does not start, or all changes after the damage are lost",
		Next: fmt.Sprintf("keep a copy of %s; a cluster member: stop it, move the file aside, let it join again; a standalone server: restore a backup, or what `ovsdb-tool show-log %s` can still read",
			s.File, s.File),
	}
	if s.Liveness == snapshot.Answers {
		f.Next = fmt.Sprintf("the server still has all rows in memory: first `ovsdb-client backup unix:%s/%s.sock %s > COPY`, then `%s` rewrites the file",
			doctor.RunDir(s.Host), s.Control, s.Database, s.ControlCommand("ovsdb-server/compact "+s.Database))
		f.Effect = "after a restart the server does not start, or has lost what it writes now"
	}
	p.Report(f)
	return true
}

// damage is what cannot be read of a database's file; empty: nothing, or the file cannot be read from here.
func damage(h *snapshot.Host, file string) string {
	if _, err := h.File(file); errors.Is(err, syscall.EIO) {
		return err.Error()
	} else if err != nil {
		return ""
	}
	content, err := h.DatabaseFile(file)
	switch {
	case err == nil:
		return content.Damage()
	case errors.Is(err, ovsdb.ErrNotJoined):
		return ""
	}
	return err.Error()
}

func controlSocket(s *doctor.Server) doctor.Source {
	return doctor.Socket("control socket " + s.Control).On(s.Host.Name)
}

// storageFailure is why a server could not write its file; empty: it could, or does not reply.
func storageFailure(s *doctor.Server) string {
	if s.Liveness != snapshot.Answers {
		return ""
	}
	status, err := s.Host.Control(s.Control, "ovsdb-server/get-db-storage-status", s.Database)
	if status = strings.TrimSpace(status); err != nil || strings.HasPrefix(status, "status: ok") {
		return ""
	}
	return status
}

// fullDisk reports a lack of free space for the server's file.
func fullDisk(p *doctor.Pass, s *doctor.Server, damaged bool) {
	f := doctor.Finding{Object: s.Object(), Also: s.Also(), Effect: "the server accepts no changes: " + notServedEffect(s.Database)}
	failed := storageFailure(s)
	f.Show(s.Reply("ovsdb-server/get-db-storage-status " + s.Database).Says(failed))
	if lines, err := s.Host.LogLines(s.Log); err == nil {
		full := doctor.Recent(lines, p.Now().Add(-10*time.Minute), func(l snapshot.LogLine) bool { return strings.Contains(l.Text, "No space left on device") })
		if len(full) > 0 {
			f.Evidence = append(f.Evidence, doctor.Log(s.Log).On(s.Host.Name).Says(full[len(full)-1].Raw))
		}
	}
	dir := path.Dir(s.File)
	space, err := s.Host.Space(dir)
	switch {
	case err == nil:
		f.Evidence = append(f.Evidence, doctor.FileSystem(dir).On(s.Host.Name).Says(fmt.Sprintf("%s of %s free", snapshot.Bytes(space.Free), snapshot.Bytes(space.Size))))
	case failed == "":
		p.Unknown(s.Object(), fmt.Errorf("the free space for %s: %w", s.File, err))
		return
	}
	size, _ := s.Host.FileSize(s.File)
	small := s.Host.SnapshotSize(s.Server)
	f.Evidence = append(f.Evidence, doctor.File(s.File, 0).On(s.Host.Name).Says(snapshot.Bytes(size)))
	swollen := s.Liveness == snapshot.Answers && size > 4*small
	if swollen && err == nil && space.Free >= small {
		f.Fix = catalog.CompactDatabase.With(s.Database)
	}
	switch {
	case err == nil && space.Free < noRoom:
		f.Reason = "full"
		f.Title = fmt.Sprintf("the disk of %s on %s is full: %s free", s.Database, s.Host.Name, snapshot.Bytes(space.Free))
		f.Cause = "something filled " + dir + ": the database itself or another file"
		f.Next = "free space there: du -x " + dir + "; the server then recovers by itself, else start it"
	case failed != "" && !damaged:
		f.Reason = "write-failed"
		f.Title = fmt.Sprintf("the server of %s on %s failed to write its file", s.Database, s.Host.Name)
		f.Cause = "the disk was full, failed, or was made read-only"
		f.Next = fmt.Sprintf("repair the disk; then `%s` rewrites the file", s.ControlCommand("ovsdb-server/compact "+s.Database))
	case err == nil && swollen && (space.Free < size || size > largeFile && size > 20*small):
		f.Result, f.Reason = doctor.Warning, "not-compacted"
		f.Title = fmt.Sprintf("the file of %s on %s is %s for about %s of rows, with %s free", s.Database, s.Host.Name, snapshot.Bytes(size), snapshot.Bytes(small), snapshot.Bytes(space.Free))
		f.Cause = "many changes in a short time, or the server does not get to compact its file"
		f.Effect = "the disk fills; then the server accepts no changes"
	case err == nil && space.Free < small:
		f.Result, f.Reason = doctor.Warning, "no-room-to-compact"
		f.Title = fmt.Sprintf("%s on %s has no room to compact its file: %s free, about %s needed", s.Database, s.Host.Name, snapshot.Bytes(space.Free), snapshot.Bytes(small))
		f.Cause = "the disk is nearly full"
		f.Effect = "the file grows until the disk is full; then the server accepts no changes"
		f.Next = "free space there: du -x " + dir
	default:
		return
	}
	p.Report(f)
}
