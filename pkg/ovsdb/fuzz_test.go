package ovsdb

import (
	"bytes"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"testing"
)

type fuzzRow struct {
	UUID   UUID           `ovsdb:"_uuid"`
	Name   string         `ovsdb:"name"`
	Count  int            `ovsdb:"count"`
	Flag   Set[bool]      `ovsdb:"flag"`
	Ratio  float64        `ovsdb:"ratio"`
	Refs   Set[UUID]      `ovsdb:"refs"`
	Strict map[string]int `ovsdb:"strict"`
}

func (fuzzRow) Table() string { return "T" }

const fuzzSchema = `{"name":"D","version":"1.0.0","tables":{"T":{"columns":{
"name":{"type":"string"},"count":{"type":"integer"},"ratio":{"type":"real"},
"flag":{"type":{"key":"boolean","min":0,"max":1}},
"refs":{"type":{"key":{"type":"uuid","refTable":"T"},"min":1,"max":"unlimited"}},
"strict":{"type":{"key":"string","value":"integer","min":0,"max":"unlimited"}}}}}}`

// FuzzFile reads transactions, and the framing around them, as a file: no
// input may make the reader panic, and no row may come of a damaged record.
func FuzzFile(f *testing.F) {
	const id = "11111111-2222-3333-4444-555555555555"
	f.Add([]byte(`{"T":{"`+id+`":{"name":"a","count":1,"refs":["set",[["uuid","`+id+`"]]],"strict":["map",[["k",1]]]}},"_date":1}`), []byte(`{"T":{"`+id+`":{"flag":["set",[]],"strict":["map",[["k",1]]]}},"_is_diff":true}`))
	f.Add([]byte(`{"T":{"`+id+`":null}}`), []byte(`[]`))
	f.Add([]byte(`{"T":{"`+id+`":{"name":[],"ratio":1e400,"count":1e15}}}`), []byte("OVSDB JSON 5 00\n{}"))
	frame := func(text []byte) []byte {
		return append(fmt.Appendf(nil, "OVSDB JSON %d %x\n", len(text), sha1.Sum(text)), text...)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		for _, file := range [][]byte{
			bytes.Join([][]byte{frame([]byte(fuzzSchema)), frame(first), frame(second)}, nil),
			bytes.Join([][]byte{frame([]byte(fuzzSchema)), frame(first), second}, nil),
			bytes.Join([][]byte{frame(first), frame(second)}, nil),
			first,
		} {
			s, err := ParseFile("fuzz", bytes.NewReader(file))
			if err != nil {
				continue
			}
			rows, err := Find[fuzzRow](t.Context(), s)
			if err == nil {
				_, _ = Find[fuzzRow](t.Context(), s, Where("count", "<", 5), Where("refs", "includes", UUID("x")))
			}
			for _, r := range rows {
				if !validUUID(string(r.UUID)) {
					t.Errorf("row with the UUID %q", r.UUID)
				}
			}
		}
		if s, err := ParseDump("D", "fuzz", bytes.NewReader(first)); err == nil {
			_, _ = Find[fuzzRow](t.Context(), s, Where("name", "==", "a"))
		}
	})
}

// FuzzReply reads what a server might say: messages cut out of a stream, and
// rows in them.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"id":1,"result":[{"rows":[{"_uuid":["uuid","11111111-2222-3333-4444-555555555555"],"name":"a"}]}],"error":null}`), 3)
	f.Add([]byte(`[{"rows":[{"name":[]}]}]`), 1)
	f.Add([]byte(`[{"error":"x","details":"y"},null]`), 2)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		var fr framer
		var whole []byte
		for part := text; len(part) > 0; {
			n := min(max(cut, 1), len(part))
			message, rest, err := fr.add(part[:n], 1<<20)
			if err != nil {
				break
			}
			part = part[n-len(rest):]
			if message != nil {
				whole = message
			}
		}
		if len(whole) > len(text) {
			t.Errorf("%d bytes out of %d", len(whole), len(text))
		}
		for _, reply := range [][]byte{text, whole} {
			var rows []fuzzRow
			k, err := newSink(&Query{Rows: &rows})
			if err != nil {
				t.Fatal(err)
			}
			_ = readResults(reply, []*sink{k})
			_, _ = opResults(reply, []Operation{{op: "insert"}})
			_, _ = parseSchema(reply)
			_ = remoteError(reply)
			s := scanner{b: reply}
			if json.Valid(reply) && s.skip() != nil {
				t.Errorf("valid JSON was not passed over: %q", reply)
			}
		}
	})
}
