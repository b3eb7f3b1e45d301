package ovsdb

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/decompress"
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

// fuzzRecord frames text as a record of a file.
func fuzzRecord(magic string, text []byte) []byte {
	return append(fmt.Appendf(nil, "OVSDB %s %d %x\n", magic, len(text), sha1.Sum(text)), text...)
}

// fuzzCluster is a clustered file: two records as they are, then the same
// texts as transactions of committed entries, the second after a conversion.
func fuzzCluster(first, second []byte, more string) [][]byte {
	const id = "11111111-2222-3333-4444-555555555555"
	records := func(texts ...[]byte) []byte {
		var file []byte
		for _, text := range texts {
			file = append(file, fuzzRecord(clustered, text)...)
		}
		return file
	}
	header := fmt.Appendf(nil, `{"server_id":%q,"prev_servers":{%q:"tcp:127.0.0.1:6643"},"prev_index":1,"prev_term":1,"prev_data":[%s,{}]}`, id, id, fuzzSchema)
	entry := func(index int, data string) []byte {
		return fmt.Appendf(nil, `{"term":1,"index":%d,"data":%s}`, index, data)
	}
	return [][]byte{
		records(header, first, second),
		records(header, entry(2, "[null,"+string(first)+"]"), []byte(`{"commit_index":2}`), entry(3, "["+more+",null]"), entry(4, "[null,"+string(second)+"]")),
		records(header, entry(2, string(first)), entry(2, string(second)), []byte(`{"commit_index":2}`)),
		records(first, second),
	}
}

// FuzzParseFile reads transactions and log records, and the framing around
// them, as files: no input may make the reader panic, and no row may come of a
// damaged record.
func FuzzParseFile(f *testing.F) {
	const id = "11111111-2222-3333-4444-555555555555"
	f.Add([]byte(`{"T":{"`+id+`":{"name":"a","count":1,"refs":["set",[["uuid","`+id+`"]]],"strict":["map",[["k",1]]]}},"_date":1}`), []byte(`{"T":{"`+id+`":{"flag":["set",[]],"strict":["map",[["k",1]]]}},"_is_diff":true}`))
	f.Add([]byte(`{"T":{"`+id+`":null}}`), []byte(`[]`))
	f.Add([]byte(`{"T":{"`+id+`":{"name":[],"ratio":1e400,"count":1e15}}}`), []byte("OVSDB JSON 5 00\n{}"))
	f.Add([]byte(`{"term":2,"index":3,"eid":"`+id+`","data":[null,{"T":{"`+id+`":{"name":"x"}}}]}`), []byte(`{"commit_index":3}`))
	f.Add([]byte(`{"term":2,"index":2,"servers":{}}`), []byte(`{"note":"left","term":18446744073709551615}`))
	for _, path := range []string{"testdata/conversion-3.5.db", "testdata/upgrade-26.03.db.gz"} {
		for first, second := range realRecords(f, path) {
			f.Add(first, second)
		}
	}
	f.Add([]byte("_uuid : "+id+"\nname : \"a\\n\"\nrefs : ["+id+"]\nstrict: {k=1}\n\n"), []byte("x"))
	// T without a column, and its strong references weak.
	less := strings.NewReplacer(`"count":{"type":"integer"},`, "", `"refTable":"T"`, `"refTable":"T","refType":"weak"`).Replace(fuzzSchema)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		schema := fuzzRecord(standalone, []byte(fuzzSchema))
		one, two := fuzzRecord(standalone, first), fuzzRecord(standalone, second)
		files := append(fuzzCluster(first, second, less),
			bytes.Join([][]byte{schema, one, two}, nil),
			bytes.Join([][]byte{schema, one, second}, nil),
			bytes.Join([][]byte{one, two}, nil),
			first, append([]byte{0x1f, 0x8b, 8, 0}, first...))
		for _, file := range files {
			s, err := ParseFile("fuzz", bytes.NewReader(file))
			var there *Snapshot
			if !decompress.Packed(file) {
				var thereErr error
				if there, thereErr = parseFile(bytes.NewReader(file), 0); (err == nil) != (thereErr == nil) {
					t.Fatalf("in memory %v, in its place %v", err, thereErr)
				}
			}
			if err != nil {
				continue
			}
			rows, err := Find[fuzzRow](t.Context(), s)
			if err == nil {
				_, _ = Find[fuzzRow](t.Context(), s, Where("count", "<", 5), Where("refs", "includes", UUID("x")))
			}
			if there != nil {
				same, thereErr := Find[fuzzRow](t.Context(), there)
				if (err == nil) != (thereErr == nil) || fmt.Sprint(rows) != fmt.Sprint(same) || s.Damage() != there.Damage() {
					t.Errorf("in memory %v %v %s, in its place %v %v %s", rows, err, s.Damage(), same, thereErr, there.Damage())
				}
				_ = there.Close()
			}
			for _, r := range rows {
				if !validUUID(string(r.UUID)) {
					t.Errorf("row with the UUID %q", r.UUID)
				}
			}
		}
		if s, err := ParseLists("D", "fuzz", map[string]io.Reader{"T": bytes.NewReader(first)}); err == nil {
			_, _ = Find[fuzzRow](t.Context(), s)
		}
		if s, err := ParseDump("D", "fuzz", bytes.NewReader(first)); err == nil {
			_, _ = Find[fuzzRow](t.Context(), s, Where("name", "==", "a"))
		}
	})
}

// realRecords returns the records of a file in pairs that follow each other.
func realRecords(f *testing.F, path string) iter.Seq2[[]byte, []byte] {
	return func(yield func(first, second []byte) bool) {
		file, err := os.Open(path)
		if err != nil {
			f.Fatal(err)
		}
		defer file.Close()
		in, err := decompress.NewReader(file, unpacking)
		if err != nil {
			f.Fatal(err)
		}
		var last []byte
		err = (&fileReader{in: bufio.NewReader(in)}).each(func(_ logRecord, in *scanner) (func() error, error) {
			text, err := in.raw()
			next := bytes.Clone(text)
			return func() error {
				if last != nil && !yield(last, next) {
					return io.ErrClosedPipe
				}
				last = next
				return nil
			}, err
		})
		if err != nil {
			f.Fatal(err)
		}
	}
}

// FuzzString reads strings that hold escapes as encoding/json does.
func FuzzString(f *testing.F) {
	for _, text := range []string{
		`inport == \"a\"`, `\\\/\b\f\n\r\t`, `\u00e9\"`, `\ud83d\ude00`, `\"\ud83d`, `\x`, `\"` + "\n", `\"` + "\xff", `é\"`, `a" \"`, `\`,
		strings.Repeat(`ct.est && outport == \"b\" || `, 40),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !strings.Contains(text, `\`) {
			return
		}
		quoted := []byte(`"` + text + `"`)
		s := scanner{b: quoted}
		got, err := s.str()
		whole := err == nil && s.i == len(quoted)
		var want string
		switch jsonErr := json.Unmarshal(quoted, &want); {
		case jsonErr == nil && (!whole || got != want):
			t.Errorf("%q: %q, %v, want %q", quoted, got, err, want)
		case jsonErr != nil && whole:
			t.Errorf("%q: %q, want an error: %v", quoted, got, jsonErr)
		}
	})
}

// FuzzReply reads what a server might say: messages cut out of a stream, and
// rows in them.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"id":1,"result":[{"rows":[{"_uuid":["uuid","11111111-2222-3333-4444-555555555555"],"name":"a"}]}],"error":null}`), 3)
	f.Add([]byte(`[{"rows":[{"name":[]}]}]`), 1)
	f.Add([]byte(`[{"rows":[{"_uuid":["uuid","11111111-2222-3333-4444-555555555555"]}]},{"rows":[{"_uuid":["uuid","11111111-2222-3333-4444-555555555555"],"name":"b"}]}]`), 9)
	f.Add([]byte(`[{"rows":[]},{"rows":[{"_uuid":["uuid","11111111-2222-3333-4444-555555555555"],"name":"b"},{}]}]`), 9)
	f.Add([]byte(`[{"error":"x","details":"y"},null]`), 2)
	f.Add([]byte(`{"id":1,"result":["}\\\"{",{"\\\\":"\\u005d"}]} {"method":"\"}`), 1)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		var fr framer
		var whole []byte
		members := 0
		for part := text; len(part) > 0; {
			n := min(max(cut, 1), len(part))
			message, rest, err := fr.add(part[:n], 1<<20)
			if err != nil {
				break
			}
			part = part[n-len(rest):]
			if message != nil {
				whole = message.text
				members = 0
				for _, m := range message.members {
					members += len(whole[m.from:m.to]) + 1
				}
			}
		}
		if len(whole) > len(text) {
			t.Errorf("%d bytes out of %d", len(whole), len(text))
		}
		if opens := bytes.IndexByte(whole, '{') + 1; members+opens != len(whole) {
			t.Errorf("members of %d bytes of %q", members, whole)
		}
		if object := bytes.HasPrefix(text, []byte("{")); object && json.Valid(text) {
			at := bytes.LastIndexByte(text, '}') + 1
			if !bytes.Equal(whole, text[:at]) {
				t.Errorf("%q of %q", whole, text)
			}
		}
		for _, reply := range [][]byte{text, whole} {
			var rows []fuzzRow
			k, err := newSink(&Query{Rows: &rows})
			if err != nil {
				t.Fatal(err)
			}
			_ = readResults(reply, []results{k, &supplement{sink: k}})
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
