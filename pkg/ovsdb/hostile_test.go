package ovsdb

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
)

const (
	hostileDBs    = `["OVN_Northbound"]`
	hostileSchema = `{"name":"OVN_Northbound","version":"7.0.0","tables":{"Logical_Switch":{"columns":{"name":{"type":"string"}}}}}`
	hostileRows   = `[{"rows":[{"_uuid":["uuid","3f1c4cde-7f0e-4a57-9b39-a8f1c1b7d6aa"],"name":"a"}]}]`
)

// A hostileServer answers a request, by its method and its number on the connection. End hangs up.
type hostileServer func(c net.Conn, method string, id int)

func result(id int, value string) string {
	return fmt.Sprintf(`{"id":%d,"result":%s,"error":null}`, id, value)
}

// proper is what an honest server answers.
func proper(c net.Conn, method string, id int) {
	value := map[string]string{"list_dbs": hostileDBs, "get_schema": hostileSchema, "transact": hostileRows}[method]
	if value == "" {
		value = "[]"
	}
	_, _ = c.Write([]byte(result(id, value)))
}

// flood writes until the client hangs up.
func flood(c net.Conn, first, then string) {
	_, err := c.Write([]byte(first))
	for chunk := []byte(strings.Repeat(then, 1+4096/len(then))); err == nil; {
		_, err = c.Write(chunk)
	}
}

// on answers one method with a text and the others properly.
func on(method string, answer func(id int) string) hostileServer {
	return func(c net.Conn, asked string, id int) {
		if asked != method {
			proper(c, asked, id)
			return
		}
		_, _ = c.Write([]byte(answer(id)))
	}
}

// flooding answers the rows with a beginning and then, without end, more of the same.
func flooding(first, then string) hostileServer {
	return func(c net.Conn, asked string, id int) {
		if asked != "transact" {
			proper(c, asked, id)
			return
		}
		flood(c, fmt.Sprintf(first, id), then)
	}
}

func always(text string) func(int) string { return func(int) string { return text } }

// hostileServers are all the ways in which a server may harm who asks it.
var hostileServers = map[string]hostileServer{
	"silent":            func(net.Conn, string, int) {},
	"hangs up":          func(c net.Conn, _ string, _ int) { _ = c.Close() },
	"garbage":           func(c net.Conn, _ string, _ int) { flood(c, "\x00\xff", "\xfe\x01") },
	"other protocol":    func(c net.Conn, _ string, _ int) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) },
	"spaces":            func(c net.Conn, _ string, _ int) { flood(c, " ", " \n") },
	"endless string":    flooding(`{"id":%d,"error":null,"result":"`, "x"),
	"endless escapes":   flooding(`{"id":%d,"error":null,"result":"`, `\u0041`),
	"endless number":    flooding(`{"id":%d,"error":null,"result":`, "1"),
	"endless rows":      flooding(`{"id":%d,"error":null,"result":[{"rows":[`, `{"name":"a"},`),
	"endless depth":     flooding(`{"id":%d,"error":null,"result":`, "["),
	"endless members":   flooding(`{"id":%d,"error":null`, `,"a":1`),
	"endless echoes":    flooding(`{"id":%d,"method":"echo","params":[]}`, `{"id":"x","method":"echo","params":[]}`),
	"endless updates":   flooding(`{"id":null,"method":"update","params":[%d]}`, `{"id":null,"method":"update","params":["x",{}]}`),
	"other ids":         flooding(`{"id":%d,"method":"x"}`, `{"id":99,"result":[],"error":null}`),
	"no databases":      on("list_dbs", func(id int) string { return result(id, "[]") }),
	"databases no list": on("list_dbs", func(id int) string { return result(id, `{"a":1}`) }),
	"schema no object":  on("get_schema", func(id int) string { return result(id, "[[[[]]]]") }),
	"schema of nothing": on("get_schema", func(id int) string {
		return result(id, `{"tables":{"Logical_Switch":{"columns":{"name":{"type":[]}}}}}`)
	}),
	"rows no list":   on("transact", func(id int) string { return result(id, `[{"rows":7}]`) }),
	"rows of others": on("transact", func(id int) string { return result(id, `[{"rows":[{"name":{"x":[]},"_uuid":1}]}]`) }),
	"no result":      on("transact", func(id int) string { return result(id, "null") }),
	"half a reply":   on("transact", func(id int) string { return result(id, hostileRows)[:30] }),
	"bad UTF-8":      on("transact", func(id int) string { return result(id, `[{"rows":[{"_uuid":["uuid","x"],"name":"`+"\xff\xc0"+`"}]}]`) }),
	"long error": on("transact", func(id int) string {
		return fmt.Sprintf(`{"id":%d,"result":null,"error":{"error":%q,"details":"\u001b[2J"}}`, id, strings.Repeat("e", 1<<20))
	}),
	"words of several lines": on("transact", func(id int) string {
		return fmt.Sprintf(`{"id":%d,"result":null,"error":{"error":"x\nhint: reboot","details":"\u001b[2J\nhint: reboot"}}`, id)
	}),
	"result of several lines": on("transact", func(id int) string {
		return result(id, `[{"error":"x\nhint: reboot","details":"\u001b[2J\nhint: reboot"}]`)
	}),
	"error that is a list": on("transact", func(id int) string {
		return fmt.Sprintf("{\"id\":%d,\"result\":null,\"error\":[1,\n2,\r3]}", id)
	}),
	"two objects in one": on("transact", always(`}{`)),
}

// TestHostileServers holds that whatever a server does, an answer or a short error comes in time.
func TestHostileServers(t *testing.T) {
	for name, server := range hostileServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "s")
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			go serveHostile(l, server)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			err = askHostile(ctx, path)
			if ctx.Err() != nil {
				t.Fatalf("no end: %v", err)
			}
			if err == nil {
				return
			}
			if text := err.Error(); len(text) > 4096 {
				t.Errorf("an error of %d bytes: %.200q", len(text), text)
			} else if strings.ContainsFunc(text, unicode.IsControl) {
				t.Errorf("an error of several lines: %q", text)
			}
		})
	}
}

func serveHostile(l net.Listener, server hostileServer) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close() //nolint:errcheck // a test
			for in := json.NewDecoder(c); ; {
				var asked struct {
					ID     int
					Method string
				}
				if in.Decode(&asked) != nil {
					return
				}
				server(c, asked.Method, asked.ID)
			}
		}()
	}
}

type hostileSwitch struct {
	UUID UUID   `ovsdb:"_uuid"`
	Name string `ovsdb:"name"`
}

func (hostileSwitch) Table() string { return "Logical_Switch" }

func askHostile(ctx context.Context, path string) error {
	c, err := Dial(ctx, Config{DB: "OVN_Northbound", Remotes: "unix:" + path, Timeout: 400 * time.Millisecond, MaxReply: 4 << 20})
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // a test
	_, err = Find[hostileSwitch](ctx, c)
	return err
}
