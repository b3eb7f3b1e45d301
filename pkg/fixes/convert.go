package fixes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// Convert converts a database to the installed schema, after copying it.
type Convert struct {
	DB     string
	Zone   string
	From   string // its schema version
	To     string // the installed schema version
	Schema string // the installed schema file, on the host
	Backup string // the copy, on the host
}

// Summary has the commands of ovsdb-client(1).
func (s Convert) Summary() StepSummary {
	server := map[string]string{"OVN_Northbound": node.DefaultOVNRunDir + "/ovnnb_db.sock", "OVN_Southbound": node.DefaultOVNRunDir + "/ovnsb_db.sock"}[s.DB]
	if server == "" {
		server = node.DefaultOVSRunDir + "/db.sock"
	}
	return StepSummary{
		What: fmt.Sprintf("convert %s from schema %s to %s", s.DB, s.From, s.To),
		Diff: []string{"- " + s.DB + " schema " + s.From, "+ " + s.DB + " schema " + s.To, "+ file " + s.Backup},
		Commands: []string{
			fmt.Sprintf("ovsdb-client backup unix:%s %s > %s", server, s.DB, s.Backup),
			fmt.Sprintf("ovsdb-client convert unix:%s %s", server, s.Schema),
		},
		OneWay: "the new columns would be lost, with what daemons wrote into them; " + s.Backup + " is a copy from before",
		on:     []string{"schema of " + s.DB}, lasts: true,
	}
}

// A convertible database can be copied and converted.
type convertible interface {
	SchemaVersion(ctx context.Context) (string, error)
	Backup(ctx context.Context, w io.Writer) error
	Convert(ctx context.Context, schema []byte) error
}

func (s Convert) database(t *Target) (convertible, error) {
	r, err := t.reader(s.DB, s.Zone)
	if err != nil {
		return nil, err
	}
	db, ok := r.(convertible)
	if !ok {
		return nil, fmt.Errorf("%s at %s can be read only", s.DB, r.Origin())
	}
	return db, nil
}

func (s Convert) look(ctx context.Context, t *Target) (stage, string, error) {
	db, err := s.database(t)
	if err != nil {
		return "", "", err
	}
	version, err := db.SchemaVersion(ctx)
	switch {
	case err != nil:
		return "", "", err
	case version == s.To:
		return done, "", nil
	case version == s.From:
		return untouched, "", nil
	}
	return moved, fmt.Sprintf("%s has schema %s, not %s", s.DB, version, s.From), nil
}

func (s Convert) do(ctx context.Context, t *Target) error {
	db, err := s.database(t)
	if err != nil {
		return err
	}
	if version, err := db.SchemaVersion(ctx); err != nil || version == s.To {
		return err
	}
	schema, err := os.ReadFile(node.Resolve(t.Root, s.Schema))
	if err != nil {
		return err
	}
	if err := backup(ctx, db, node.Resolve(t.Root, s.Backup)); err != nil {
		return fmt.Errorf("copy of %s: %w", s.DB, err)
	}
	return db.Convert(ctx, schema)
}

// backup writes a copy, and names it once complete. An earlier run's copy is replaced: it is of the same unconverted
// database.
func backup(ctx context.Context, db convertible, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = db.Backup(ctx, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}

func (s Convert) undo(context.Context, *Target) error { return errOneWay }
