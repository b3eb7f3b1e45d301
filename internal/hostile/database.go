package hostile

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Schema is that of the databases that [Database] draws, where it is right.
const Schema = `{"name":"D","version":"1.0.0","tables":{"T":{"columns":{"name":{"type":"string"},"count":{"type":"integer"},` +
	`"refs":{"type":{"key":{"type":"uuid","refTable":"T"},"min":0,"max":"unlimited"}},"keys":{"type":{"key":"string","value":"string","min":0,"max":"unlimited"}}},"isRoot":true}}}`

const id = "11111111-2222-3333-4444-555555555555"

// Database draws a database file, ovsdb(5), standalone or of a cluster, with wrong lengths and hashes, deep and broken JSON, names
// that come twice, records out of order, entries that contradict each other, or an end in its middle.
func Database(draw *rand.Rand) []byte {
	var records []string
	magic := one(draw, "JSON", "CLUSTER")
	schema := one(draw, Schema, Schema, Schema, Schema, Schema, Schema, value(draw, 3), strings.Replace(Schema, `"string"`, `{"key":"string","min":`+number(draw)+`,"max":`+number(draw)+`}`, 1), deep(draw))
	if magic == "JSON" {
		records = append(records, schema)
		for range draw.IntN(12) {
			records = append(records, transaction(draw))
		}
	} else {
		records = append(records, fmt.Sprintf(`{"server_id":%q,"cluster_id":%q,"name":"D","local_address":"tcp:127.0.0.1:6643","prev_servers":{%q:"tcp:127.0.0.1:6643"},"prev_index":%s,"prev_term":%s,"prev_data":[%s,%s]}`,
			id, id, id, mostly(draw, "1", number(draw)), mostly(draw, "1", number(draw)), schema, transaction(draw)))
		for i := range draw.IntN(12) {
			records = append(records, raftRecord(draw, i+2))
		}
	}
	if sometimes(draw, 5) {
		draw.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	}
	var out bytes.Buffer
	for _, text := range records {
		length, sum := strconv.Itoa(len(text)), fmt.Sprintf("%x", sha1.Sum([]byte(text)))
		if sometimes(draw, 60) {
			length = number(draw)
		}
		if sometimes(draw, 60) {
			sum = one(draw, strings.Repeat("0", 40), "", "zz", strings.Repeat("a", 5000))
		}
		fmt.Fprintf(&out, "OVSDB %s %s %s\n%s", mostly(draw, magic, one(draw, "JSON", "CLUSTER", "X")), length, sum, text)
	}
	text := out.Bytes()
	if sometimes(draw, 4) {
		text = damaged(draw, text)
	}
	if sometimes(draw, 6) {
		text = packed(draw, text)
	}
	return text
}

// mostly is the one, and one time in twenty the other.
func mostly(draw *rand.Rand, one, other string) string {
	if sometimes(draw, 20) {
		return other
	}
	return one
}

// transaction is one of the file; half of them are right.
func transaction(draw *rand.Rand) string {
	switch draw.IntN(16) {
	case 0:
		return value(draw, 4)
	case 1:
		return deep(draw)
	case 2, 3, 4, 5, 6, 7, 8, 9:
		return fmt.Sprintf(`{"T":{"%08x-2222-3333-4444-555555555555":{"name":"x","count":%d,"refs":["set",[["uuid",%q]]],"keys":["map",[["a","b"]]]}},"_date":1}`, draw.Uint32(), draw.IntN(9), id)
	}
	var rows []string
	for range draw.IntN(6) {
		uuid := one(draw, id, fmt.Sprintf("%08x-2222-3333-4444-555555555555", draw.Uint32()), word(draw))
		rows = append(rows, fmt.Sprintf(`%q:%s`, uuid, one(draw, "null", `{"name":"x","count":1}`, fmt.Sprintf(`{%q:%s,"name":%s}`, one(draw, "name", "count", "refs", "keys", "none"), value(draw, 1), value(draw, 0)))))
	}
	text := fmt.Sprintf(`{%q:{%s}`, one(draw, "T", "T", "T", word(draw)), strings.Join(rows, ","))
	for sometimes(draw, 2) {
		text += fmt.Sprintf(",%q:%s", one(draw, "_date", "_comment", "_is_diff", "T"), value(draw, draw.IntN(2)))
	}
	return text + "}"
}

// raftRecord is a record of a cluster member's log.
func raftRecord(draw *rand.Rand, index int) string {
	at, term := mostly(draw, strconv.Itoa(index), number(draw)), mostly(draw, "1", number(draw))
	switch draw.IntN(12) {
	case 0:
		return fmt.Sprintf(`{"commit_index":%s}`, at)
	case 1:
		return fmt.Sprintf(`{"term":%s,"vote":%q}`, term, one(draw, id, word(draw)))
	case 2:
		return fmt.Sprintf(`{"term":%s,"index":%s,"servers":%s}`, term, at, value(draw, 2))
	case 3:
		return fmt.Sprintf(`{"note":%s}`, value(draw, 1))
	case 4:
		return value(draw, 3)
	case 5:
		return fmt.Sprintf(`{"term":%s,"index":%s,"data":[%s,%s]}`, term, at, one(draw, "null", Schema, value(draw, 3)), transaction(draw))
	}
	return fmt.Sprintf(`{"term":%s,"index":%s,"eid":%q,"data":[null,%s]}`, term, at, id, transaction(draw))
}
