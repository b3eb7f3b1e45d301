package node

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // the file format's checksum
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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
	schema, tables, err := l.readAll(ctx)
	if err != nil {
		return "", nil, err
	}
	rows, err := asRecord(tables)
	if err != nil {
		return "", nil, err
	}
	if schema, err = ovsdb.KeepAll(schema); err != nil { // the rows below have all columns
		return "", nil, err
	}
	file := record(nil, schema)
	return confDB, record(file, archive.Compact(rows)), nil
}

// dump is the local Open_vSwitch database as `ovsdb-client dump -f json` prints it.
func (l *local) dump(ctx context.Context) ([]byte, error) {
	_, tables, err := l.readAll(ctx)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, t := range tables {
		fmt.Fprintf(&text, `{"caption":"%s table","headings":["%s"],"data":[`, t.name, strings.Join(t.columns, `","`)) // names are identifiers: RFC 7047, 3.1
		for i, row := range t.rows {
			if i > 0 {
				text.WriteByte(',')
			}
			for j, column := range t.columns {
				text.WriteByte("[,"[min(j, 1)])
				text.Write(row[column])
			}
			text.WriteByte(']')
		}
		text.WriteString("]}\n")
	}
	return text.Bytes(), nil
}

// A tableRows is a table with its rows.
type tableRows struct {
	name    string
	columns []string // those of the schema, and _uuid
	rows    []map[string]json.RawMessage
}

// readAll reads the schema and all rows of the local Open_vSwitch database.
func (l *local) readAll(ctx context.Context) (json.RawMessage, []tableRows, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	conn, err := l.dialBackup(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close() //nolint:errcheck // only read
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	rpc := &rowReader{conn: conn, in: json.NewDecoder(io.LimitReader(conn, mostReply()))}

	schema, err := rpc.call("get_schema", "Open_vSwitch")
	if err != nil {
		return nil, nil, silent(ctx, "get_schema", err)
	}
	tables, err := rpc.rows(schema)
	if err != nil {
		return nil, nil, silent(ctx, "select", err)
	}
	return schema, tables, nil
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

// rows selects all tables' rows in one transaction.
func (r *rowReader) rows(schema json.RawMessage) ([]tableRows, error) {
	var s struct {
		Tables map[string]struct{ Columns map[string]json.RawMessage }
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	var tables []tableRows
	operations := []any{"Open_vSwitch"}
	for _, name := range slices.Sorted(maps.Keys(s.Tables)) {
		columns := append([]string{"_uuid"}, slices.Sorted(maps.Keys(s.Tables[name].Columns))...)
		tables = append(tables, tableRows{name: name, columns: columns})
		operations = append(operations, map[string]any{"op": "select", "table": name, "where": []any{}, "columns": columns})
	}
	result, err := r.call("transact", operations...)
	if err != nil {
		return nil, err
	}
	var selected []struct {
		Rows  []map[string]json.RawMessage
		Error string
	}
	if err := json.Unmarshal(result, &selected); err != nil {
		return nil, err
	}
	if len(selected) < len(tables) {
		return nil, errors.New("select: fewer results than tables")
	}
	for i := range tables {
		if selected[i].Error != "" {
			return nil, fmt.Errorf("select from %s: %s", tables[i].name, selected[i].Error)
		}
		tables[i].rows = selected[i].Rows
	}
	return tables, nil
}

// asRecord is all rows as a transaction record: {TABLE:{UUID:ROW}}.
func asRecord(tables []tableRows) (map[string]any, error) {
	all := map[string]any{"_date": time.Now().UnixMilli()}
	for _, t := range tables {
		rows := map[string]any{}
		for _, values := range t.rows {
			row := make(map[string]any, len(values))
			for column, text := range values {
				value := json.NewDecoder(bytes.NewReader(text))
				value.UseNumber()
				var v any
				if err := value.Decode(&v); err != nil {
					return nil, err
				}
				row[column] = v
			}
			id, ok := row["_uuid"].([]any)
			if !ok || len(id) != 2 {
				return nil, fmt.Errorf("select from %s: a row without _uuid", t.name)
			}
			uuid, _ := id[1].(string)
			delete(row, "_uuid")
			secret.Hide(row)
			rows[uuid] = row
		}
		if len(rows) > 0 {
			all[t.name] = rows
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
