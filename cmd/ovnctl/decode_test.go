package main

import (
	"strings"
	"testing"
)

// TestDecodeCompressed names the tool that opens what is compressed.
func TestDecodeCompressed(t *testing.T) {
	for begin, tool := range map[string]string{
		"\x1f\x8b\x08\x00\x00": "zcat", "\x28\xb5\x2f\xfd\x04": "zstdcat", "\xfd7zXZ\x00": "xzcat", "BZh91AY": "bzcat",
	} {
		var out, errs strings.Builder
		code := run(t.Context(), []string{"decode", "--plain"}, strings.NewReader(begin+"\n"), &out, &errs)
		if want := "hint: " + tool + " FILE | ovnctl decode"; code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%q: exit %d, %s; want %q", begin, code, errs.String(), want)
		}
	}
}
