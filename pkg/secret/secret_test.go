package secret_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/secret"
)

func TestKey(t *testing.T) {
	for _, name := range []string{"token", "api-Token", "db_password", "PSK", "my-psk", "client-key-data", "k8s-secret", "tokens", "passwd", "PWD", "db-pwd", "passphrase", "api_key", "apiKey", "basicAuth", "x-auth", "Authorization", "aws_secret_access_key"} {
		if !secret.Key(name) {
			t.Errorf("%s is not taken for a secret", name)
		}
	}
	for _, name := range []string{"", "key", "port", "private_key", "hostname", "data", "pass", "author", "authority", "pwdx", "unauthorized"} {
		if secret.Key(name) {
			t.Errorf("%s is taken for a secret", name)
		}
	}
}

func TestMap(t *testing.T) {
	m := map[string]string{"PSK": "x", "tokens": "", "pem": "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----", "port": "1"}
	want := map[string]string{"PSK": "<hidden>", "tokens": "<hidden>", "pem": "<hidden>", "port": "1"}
	if diff := gocmp.Diff(want, secret.Map(m)); diff != "" {
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
	if diff := gocmp.Diff(want, secret.Args(in)); diff != "" {
		t.Error(diff)
	}
	if in[3] != "x" {
		t.Error("Args changed its argument")
	}
}

func TestText(t *testing.T) {
	const key = "-----BEGIN EC PRIVATE KEY-----\nx\n-----END EC PRIVATE KEY-----"
	encode := base64.StdEncoding.EncodeToString
	tests := []struct{ in, want string }{
		{in: "token=x", want: "token=<hidden>"},
		{in: "x --client-secret -a!b --port 1", want: "x --client-secret <hidden> --port 1"},
		{in: "x --password --port 1", want: "x --password --port 1"},
		{in: "x --password -v --port 1", want: "x --password -v --port 1"},
		{in: `{my-psk="a b", port="1"}`, want: `{my-psk="<hidden>", port="1"}`},
		{in: "API_TOKEN=x,y", want: "API_TOKEN=<hidden>"},
		{in: "password=x}y, port=1", want: "password=<hidden>, port=1"},
		{in: "a?token=x&b=1", want: "a?token=<hidden>&b=1"},
		{in: key, want: "<hidden>"},
		{in: strings.ReplaceAll(`{"k":"`+key+`","port":1}`, "\n", `\n`), want: `{"k":"<hidden>","port":1}`},
		{in: strings.ReplaceAll(`{"k":"{\"k\":\"`+key+`\"}","port":1}`, "\n", `\\n`), want: `{"k":"{\"k\":\"<hidden>\"}","port":1}`},
		{in: "-----BEGIN PRIVATE KEY-----\nx", want: "<hidden>"},
		{in: `["-----BEGIN PRIVATE KEY-----\nx"]`, want: `["<hidden>"]`},
		{in: "  client-key-data: x y", want: "  client-key-data: <hidden>"},
		{in: "connecting, psk: x, port: 1", want: "connecting, psk: <hidden>, port: 1"},
		{in: "password: |\n  x\n  y\nport: 1", want: "password: |\n  <hidden>\nport: 1"},
		{in: "privatekey=x", want: "privatekey=<hidden>"},
		{in: "wep-key0: x", want: "wep-key0: <hidden>"},
		{in: "%any : PSK \"x\"", want: "%any : PSK \"<hidden>\""},
		{in: `{"password": "x", "port": 1}`, want: `{"password": "<hidden>", "port": 1}`},
		{in: `"{\"password\": \"x\\\"y\", \"port\": 1}"`, want: `"{\"password\": \"<hidden>\", \"port\": 1}"`},
		{in: `{"password": 4711, "port": 1}`, want: `{"password": "<hidden>", "port": 1}`},
		{in: `{"tokens": ["x", "y"], "port": 1}`, want: `{"tokens": "<hidden>", "port": 1}`},
		{in: `{'password': 'x'}`, want: `{'password': '<hidden>'}`},
		{in: "<password>x</password>", want: "<password><hidden></password>"},
		{in: `["--db-password","x"]`, want: `["--db-password","<hidden>"]`},
		{in: "ovn-x --db-password x --port 1", want: "ovn-x --db-password <hidden> --port 1"},
		{in: "https://me:x@host/path", want: "https://<hidden>@host/path"},
		{in: `"https:\/\/me:x@host"`, want: `"https:\/\/<hidden>@host"`},
		{in: "Authorization: Basic bWU6eA== \n", want: "Authorization: <hidden>\n"},
		{in: "got Bearer abc123def456.x from", want: "got Bearer <hidden> from"},
		{in: "id AKIAIOSFODNN7EXAMPLE", want: "id <hidden>"},
		{in: "x " + encode([]byte(`{"user":"me","password":"x"}`)), want: "x <hidden>"},
		{in: "x " + encode([]byte(encode([]byte(key)))), want: "x <hidden>"},
		{in: "x 9Xk2LpQ7vR4tZ8mN1bC6sW3dF5gH0jKa", want: "x <hidden>"},

		{in: "private-key=/etc/ovn/key.pem"},
		{in: `["ssl","db:Open_vSwitch,SSL,private_key"]`},
		{in: "harmless: yes\nport=1"},
		{in: `inport == "auth" && ip4.src == $secret_as`},
		{in: `outport == "token-a"; next;`},
		{in: "bearer authentication failed"},
		{in: "move:NXM_NX_TUN_METADATA0[16..30]->NXM_NX_REG14[0..14],resubmit(,33)"},
		{in: "unix:/var/run/openvswitch/ovnnb_db.sock ssl:[fd00::1]:6641"},
		{in: "Claiming lport neutron-0a58ac1e-000c-4111-8222-0a58ac1e000c"},
		{in: `{"private_key":{"type":"string"},"authorization":{"type":{"key":"string"}}}`},
		{in: `{"authorization":"name","update":["set",["encaps"]]}`},
		{in: `{"password": null, "token": ""}`},
	}
	for _, test := range tests {
		want := cmp.Or(test.want, test.in)
		if got := string(secret.Text([]byte(test.in))); got != want {
			t.Errorf("Text(%q) = %q, want %q", test.in, got, want)
		}
		if in := secret.In(test.in); in != (want != test.in) {
			t.Errorf("In(%q) = %t", test.in, in)
		}
	}
}

// Everything that hides a row hides the same.
func TestRows(t *testing.T) {
	tests := []struct{ in, want string }{
		{`["map",[["my-Token","x"],["port","1"]]]`, `["map",[["my-Token","<hidden>"],["port","1"]]]`},
		{`["map",[["PSK","a\"b"]]]`, `["map",[["PSK","<hidden>"]]]`},
		{`["map",[["config","password=x"]]]`, `["map",[["config","password=<hidden>"]]]`},
		{`["map",[["config","{\"password\":\"x\"}"]]]`, `["map",[["config","{\"password\":\"<hidden>\"}"]]]`},
		{`["set",["token","x"]]`, `["set",["token","x"]]`}, // names
		{`["set",[]]`, `["set",[]]`},
		{`["uuid","3f1c4cde-7f0e-4a57-9b39-a8f1c1b7d6aa"]`, `["uuid","3f1c4cde-7f0e-4a57-9b39-a8f1c1b7d6aa"]`},
		{`["map",[["secret",["uuid","x"]]]]`, `["map",[["secret",["uuid","x"]]]]`},
		{`"token"`, `"token"`},
		{`7`, `7`},
	}
	for _, test := range tests {
		if got := secret.String(test.in); got != test.want {
			t.Errorf("String(%s) = %s, want %s", test.in, got, test.want)
		}
		var row any
		if err := json.Unmarshal([]byte(`{"column":`+test.in+`}`), &row); err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal([]byte(`{"column":`+test.want+`}`), &want); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, secret.Hide(row)); diff != "" {
			t.Errorf("Hide(%s): %s", test.in, diff)
		}
	}
	broken := secret.String(`{"_comment":"ovn-nbctl set x external_ids:psk=x","Interface":{"options":["map",[["psk","x"`)
	if want := `{"_comment":"ovn-nbctl set x external_ids:psk=<hidden>","Interface":{"options":["map",[["psk","<hidden>"`; broken != want {
		t.Errorf("hidden in damaged text: %s", broken)
	}
}

// No text makes the scanner fail, and what it hides stays hidden.
func FuzzText(f *testing.F) {
	for _, s := range []string{`{"token":"x"}`, "a://b:c@d", "-----BEGIN PRIVATE KEY-----\n", `\\"psk\\"=\"`, "password: |\n x", "auth={[", "Bearer x1y2z3w4v5"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		secret.Text(text)
		if !bytes.Equal(before, text) {
			t.Error("Text changed its argument")
		}
	})
}
