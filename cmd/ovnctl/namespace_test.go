package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestNamespace(t *testing.T) {
	for text, want := range map[string]string{
		"client": "shop/client", "web:80": "shop/web:80", "svc:web": "svc:shop/web", "svc/web": "svc:shop/web", "svc:web:80": "svc:shop/web:80", "pod/client": "pod:shop/client",
		"bank/vault": "bank/vault", "svc:bank/vault": "svc:bank/vault", "bank/": "bank/", "node:node1": "node:node1", "lsp:web": "lsp:web", "external:203.0.113.1": "external:203.0.113.1",
		"203.0.113.1": "203.0.113.1", "203.0.113.1:80": "203.0.113.1:80", "fd00::1": "fd00::1", "[fd00::1]:80": "[fd00::1]:80", "0a:58:0a:f4:00:05": "0a:58:0a:f4:00:05",
	} {
		if got := namespace("shop").name(text); got != want {
			t.Errorf("%s in shop: %s, want %s", text, got, want)
		}
		if got := namespace("").name(text); got != text {
			t.Errorf("%s: %s", text, got)
		}
	}
	for _, args := range [][]string{
		{"trace", "client", "web-2", "-n", "shop", "--tcp", "8080"}, {"trace", "client", "bank/vault-1", "--namespace", "shop", "--tcp", "8080"}, {"trace", "client", "svc:web", "-n=shop", "--tcp", "80"},
		{"topology", "show", "client", "-n", "shop"}, {"doctor", "client", "-n", "shop"}, {"reach", "client", "web-2", "-n", "shop"}, {"reach", "-n", "shop"}, {"trace", "client", "203.0.113.10", "-n", "shop"},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), append([]string{"--offline", "demo:healthy"}, args...), strings.NewReader(""), &out, &errs); code != exitOK || !strings.Contains(out.String(), "shop/client") {
			t.Errorf("%q: exit code %d: %s%s", args, code, out.String(), errs.String())
		}
	}
}
