package record

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/ovnctl/ovnctl/pkg/archive"
)

// A File is a file of a record: of a database, or a look at the nodes.
type File struct {
	Database string        // nb.db, or ZONE/nb.db; empty for a look at the nodes
	Time     time.Time     // when it begins; of a look, when it was complete
	Log      []byte        // of a database: all of it that is sound
	Look     *archive.Tree // at the nodes; open during the visit only
}

// Files calls visit for each file of the record until visit returns an error, with how many come after it. What has been
// written since the record was opened is not among them, nor what was removed since, nor what of a database is damaged. A damaged
// look is an error.
func (r *Record) Files(ctx context.Context, visit func(f File, left int) error) error {
	left := len(r.nodes.files)
	for _, s := range r.databases {
		left += len(s.files)
	}
	for _, s := range append(slices.Clone(r.databases), r.nodes) {
		for i, f := range s.files {
			if err := ctx.Err(); err != nil {
				return err
			}
			left--
			if i > 0 && f.time.Equal(s.files[i-1].time) { // the same, packed
				continue
			}
			read, err := r.file(ctx, s, f)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				return err
			case read.Look != nil:
				err = visit(read, left)
				_ = read.Look.Close()
			case len(read.Log) > 0:
				err = visit(read, left)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// file reads a file.
func (r *Record) file(ctx context.Context, s series, f file) (File, error) {
	if s.dir == nodesDir {
		look, err := r.openLook(ctx, f)
		return File{Time: f.time, Look: look}, err
	}
	text, err := r.sound(f)
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(f.path, logSuffix) { // it was packed
		f.path = strings.TrimSuffix(f.path, logSuffix) + packedSuffix
		text, err = r.sound(f)
	}
	return File{Database: s.name(), Time: f.time, Log: text}, err
}

// sound returns what is sound of the file of a database, until the end of the record.
func (r *Record) sound(f file) ([]byte, error) {
	in, err := openRegular(r.root, f.path)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // only read
	end := int64(0)
	_ = scan(in, false, func(e entry) bool { // what is damaged is left out
		if e.time.After(r.to) {
			return false
		}
		end = e.end
		return true
	})
	text, err := part(in, end)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(text)
}

// AddLog adds a whole file of a database, which begins at a time.
func (w *Writer) AddLog(database string, begins time.Time, text []byte) error {
	return w.whole(path.Join(databasesDir, database), called(begins.UTC().Format(stamp)+packedSuffix), func(out io.Writer) error {
		z, err := zstd.NewWriter(out, packing...)
		if err != nil {
			return err
		}
		_, err = z.Write(text)
		return errors.Join(err, z.Close())
	})
}

// AddLook adds a look at the nodes that was complete at a time and that write writes.
func (w *Writer) AddLook(complete time.Time, write func(io.Writer) error) error {
	return w.whole(nodesDir, called(complete.UTC().Format(stamp)+lookSuffix), write)
}
