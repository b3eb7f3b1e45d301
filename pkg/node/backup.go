package node

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // the file format's checksum
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

// backup saves the local Open_vSwitch database as a file that ovsdb-server(1) could serve: a schema record and one
// with all rows, secrets hidden.
func (l *local) backup(ctx context.Context) (string, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	conn, err := l.dialBackup(ctx)
	if err != nil {
		return "", nil, err
	}
	defer conn.Close() //nolint:errcheck // only read
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	rpc := &rowReader{conn: conn, in: json.NewDecoder(io.LimitReader(conn, mostReply()))}

	schema, err := rpc.call("get_schema", "Open_vSwitch")
	if err != nil {
		return "", nil, silent(ctx, "get_schema", err)
	}
	rows, err := rpc.rows(schema)
	if err != nil {
		return "", nil, silent(ctx, "select", err)
	}
	if schema, err = ovsdb.KeepAll(schema); err != nil { // the rows below have all columns
		return "", nil, err
	}
	file := record(nil, schema)
	return confDB, record(file, archive.Compact(rows)), nil
}

func (l *local) dialBackup(ctx context.Context) (net.Conn, error) {
	if path, ok := strings.CutPrefix(l.OVS, "unix:"); ok {
		return dialUnix(ctx, path)
	}
	return nil, fmt.Errorf("cannot save Open_vSwitch at %s, only from its unix socket", l.OVS)
}

// record appends a record of the database file format, ovsdb(5).
func record(file, text []byte) []byte {
	text = append(bytes.TrimSpace(text), '\n')
	return append(fmt.Appendf(file, "OVSDB JSON %d %x\n", len(text), sha1.Sum(text)), text...) //nolint:gosec // see above
}

// A rowReader sends requests to an OVSDB server, one after the other.
type rowReader struct {
	conn net.Conn
	in   *json.Decoder
}

func (r *rowReader) call(method string, params ...any) (json.RawMessage, error) {
	if err := json.NewEncoder(r.conn).Encode(map[string]any{"id": method, "method": method, "params": params}); err != nil {
		return nil, err
	}
	for {
		var m struct {
			ID, Result, Error, Params json.RawMessage
			Method                    string
		}
		if err := r.in.Decode(&m); err != nil {
			return nil, err
		}
		switch {
		case m.Method == "echo":
			if err := json.NewEncoder(r.conn).Encode(map[string]any{"id": m.ID, "result": m.Params, "error": nil}); err != nil {
				return nil, err
			}
		case len(m.Error) > 0 && string(m.Error) != "null":
			return nil, fmt.Errorf("%s: %s", method, m.Error)
		case m.Method == "":
			return m.Result, nil
		}
	}
}

// rows selects all tables' rows in one transaction, as a transaction record: {TABLE:{UUID:ROW}}.
func (r *rowReader) rows(schema json.RawMessage) (map[string]any, error) {
	var s struct {
		Tables map[string]json.RawMessage
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	var tables []string
	for name := range s.Tables {
		tables = append(tables, name)
	}
	slices.Sort(tables)
	operations := []any{"Open_vSwitch"}
	for _, name := range tables {
		operations = append(operations, map[string]any{"op": "select", "table": name, "where": []any{}})
	}
	result, err := r.call("transact", operations...)
	if err != nil {
		return nil, err
	}
	var selected []struct {
		Rows  []map[string]any
		Error string
	}
	decoder := json.NewDecoder(bytes.NewReader(result))
	decoder.UseNumber()
	if err := decoder.Decode(&selected); err != nil {
		return nil, err
	}
	if len(selected) < len(tables) {
		return nil, errors.New("select: fewer results than tables")
	}
	all := map[string]any{"_date": time.Now().UnixMilli()}
	for i, name := range tables {
		if selected[i].Error != "" {
			return nil, fmt.Errorf("select from %s: %s", name, selected[i].Error)
		}
		rows := map[string]any{}
		for _, row := range selected[i].Rows {
			id, ok := row["_uuid"].([]any)
			if !ok || len(id) != 2 {
				return nil, fmt.Errorf("select from %s: a row without _uuid", name)
			}
			uuid, _ := id[1].(string)
			delete(row, "_uuid")
			delete(row, "_version")
			secret.Hide(row)
			rows[uuid] = row
		}
		if len(rows) > 0 {
			all[name] = rows
		}
	}
	return all, nil
}

// backup saves the dump printed by the node's ovsdb-client(1), secrets hidden.
func (r *remote) backup(ctx context.Context) (string, []byte, error) {
	out, err := r.part(ctx, databasePart, "ovsdb-client")
	if err != nil {
		return "", nil, err
	}
	var file bytes.Buffer
	decoder := json.NewDecoder(bytes.NewReader(out))
	decoder.UseNumber()
	for decoder.More() {
		var table map[string]any
		if err := decoder.Decode(&table); err != nil {
			return "", nil, fmt.Errorf("dump of Open_vSwitch: %w", err)
		}
		secret.Hide(table)
		file.Write(append(archive.Compact(table), '\n'))
	}
	return confJSON, file.Bytes(), nil
}
