package secret_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/secret"
)

func TestKey(t *testing.T) {
	for _, name := range []string{"token", "api-Token", "db_password", "PSK", "my-psk", "client-key-data", "k8s-secret", "tokens"} {
		if !secret.Key(name) {
			t.Errorf("%s is not taken for a secret", name)
		}
	}
	for _, name := range []string{"", "key", "port", "private_key", "hostname", "data", "pass"} {
		if secret.Key(name) {
			t.Errorf("%s is taken for a secret", name)
		}
	}
}

func TestMap(t *testing.T) {
	m := map[string]string{"PSK": "x", "tokens": "", "pem": "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----", "port": "1"}
	want := map[string]string{"PSK": "<hidden>", "tokens": "<hidden>", "pem": "<hidden>", "port": "1"}
	if diff := cmp.Diff(want, secret.Map(m)); diff != "" {
		t.Error(diff)
	}
	if m["PSK"] != "x" {
		t.Error("Map changed its argument")
	}
	if secret.Map(map[string]string{}) != nil {
		t.Error("an empty map does not become nil")
	}
}

func TestArgs(t *testing.T) {
	in := []string{"ovn-x", "--db-password=x", "--token", "x", "--port", "6641", "set", "external_ids:psk=x"}
	want := []string{"ovn-x", "--db-password=<hidden>", "--token", "<hidden>", "--port", "6641", "set", "external_ids:psk=<hidden>"}
	if diff := cmp.Diff(want, secret.Args(in)); diff != "" {
		t.Error(diff)
	}
	if in[3] != "x" {
		t.Error("Args changed its argument")
	}
}

func TestText(t *testing.T) {
	const key = "-----BEGIN EC PRIVATE KEY-----\nx\n-----END EC PRIVATE KEY-----"
	tests := []struct{ in, text, file string }{
		{in: "token=x", text: "token=<hidden>"},
		{in: `{my-psk="a b", port="1"}`, text: `{my-psk=<hidden>, port="1"}`},
		{in: "API_TOKEN=x,y", text: "API_TOKEN=<hidden>,y"},
		{in: key, text: "<hidden>"},
		{in: "-----BEGIN PRIVATE KEY-----\nx", text: "<hidden>"},
		{in: "  client-key-data: x y", text: "  client-key-data: x y", file: "  client-key-data: <hidden>"},
		{in: "connecting, psk: x, port: 1", text: "connecting, psk: x, port: 1", file: "connecting, psk: <hidden>, port: 1"},
		{in: "privatekey=x", text: "privatekey=x", file: "privatekey=<hidden>"},
		{in: "wep-key0: x", text: "wep-key0: x", file: "wep-key0: <hidden>"},
		{in: "private-key=/etc/ovn/key.pem", text: "private-key=/etc/ovn/key.pem"},
		{in: "harmless: yes\nport=1", text: "harmless: yes\nport=1"},
	}
	for _, test := range tests {
		if test.file == "" {
			test.file = test.text
		}
		if got := string(secret.Text([]byte(test.in))); got != test.text {
			t.Errorf("Text(%q) = %q, want %q", test.in, got, test.text)
		}
		file := string(secret.File([]byte(test.in)))
		if file != test.file {
			t.Errorf("File(%q) = %q, want %q", test.in, file, test.file)
		}
		if in := secret.InFile(test.in); in != (file != test.in) {
			t.Errorf("InFile(%q) = %t, and File changes it: %t", test.in, in, file != test.in)
		}
	}
}

// Everything that hides a row hides the same.
func TestRows(t *testing.T) {
	tests := []struct{ in, want string }{
		{`["map",[["my-Token","x"],["port","1"]]]`, `["map",[["my-Token","<hidden>"],["port","1"]]]`},
		{`["map",[["PSK","a\"b"]]]`, `["map",[["PSK","<hidden>"]]]`},
		{`["set",["token","x"]]`, `["set",["token","<hidden>"]]`}, // as a map's pair, to be safe
		{`["set",[]]`, `["set",[]]`},
		{`["uuid","3f1c4cde-7f0e-4a57-9b39-a8f1c1b7d6aa"]`, `["uuid","3f1c4cde-7f0e-4a57-9b39-a8f1c1b7d6aa"]`},
		{`["map",[["secret",["uuid","x"]]]]`, `["map",[["secret",["uuid","x"]]]]`},
		{`"token"`, `"token"`},
		{`7`, `7`},
	}
	for _, test := range tests {
		if got := secret.Datum(test.in); got != test.want {
			t.Errorf("Datum(%s) = %s, want %s", test.in, got, test.want)
		}
		if got := string(secret.Record([]byte(test.in))); got != test.want {
			t.Errorf("Record(%s) = %s, want %s", test.in, got, test.want)
		}
		var row any
		if err := json.Unmarshal([]byte(`{"column":`+test.in+`}`), &row); err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal([]byte(`{"column":`+test.want+`}`), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, secret.Hide(row)); diff != "" {
			t.Errorf("Hide(%s): %s", test.in, diff)
		}
	}
	broken := secret.Record([]byte(`{"_comment":"ovn-nbctl set x external_ids:psk=x","Interface":{"options":["map",[["psk","x"`))
	if want := `{"_comment":"ovn-nbctl set x external_ids:psk=<hidden>","Interface":{"options":["map",[["psk","<hidden>"`; string(broken) != want {
		t.Errorf("Record hides in damaged text: %s", broken)
	}
}
