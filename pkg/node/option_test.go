package node

import "testing"

func TestOption(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"x", "-p", "/key"}, "/key"},
		{[]string{"x", "-p/key"}, "/key"},
		{[]string{"x", "--private-key=/key"}, "/key"},
		{[]string{"x", "--private-key", "/key"}, "/key"},
		{[]string{"x", "--pidfile", "-c", "/cert", "-p"}, ""},
		{[]string{"x", "--private-keys=/key"}, ""},
		{nil, ""},
	} {
		if got := Option(c.args, "-p", "--private-key"); got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}
