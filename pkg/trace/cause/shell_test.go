package cause

import "testing"

func TestOvnctl(t *testing.T) {
	for _, c := range []struct {
		names, flags []string
		want         string
	}{
		{[]string{"a", "b c"}, []string{"--tcp=80"}, "ovnctl trace a 'b c' --tcp=80"},
		{[]string{"-a", "b"}, []string{"--tcp=80", "-6"}, "ovnctl trace --tcp=80 -6 -- -a b"},
		{[]string{"a", "--help"}, nil, "ovnctl trace -- a --help"},
	} {
		if got := Ovnctl("trace", c.names, c.flags...); got != c.want {
			t.Errorf("%q: %s, want %s", c.names, got, c.want)
		}
	}
}
