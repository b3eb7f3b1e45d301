package render_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/render"
)

// JSON is laid out as encoding/json does it, and the same document when a terminal would interpret some of it.
func TestJSON(t *testing.T) {
	type deep struct {
		Names map[string][]string `json:"names"`
		Raw   json.RawMessage     `json:"raw"`
		Deep  *deep               `json:"deep,omitempty"`
		N     float64             `json:"n"`
	}
	doc := []any{
		nil, true, "", -1.5e300, []int{}, map[string]int{}, []any{[]any{}, []any{[]any{1, 2}}},
		`"`, `\`, `\"`, `"\\`, `a\\"{[,:]}`, "<&>\u2028", "ä – 漢字",
		deep{Names: map[string][]string{"": nil, `k"{`: {}, "v": {"a", `b\`}}, Raw: json.RawMessage(`{ "a" : [ ] , "b":[ 1 ,{ } ]}`), Deep: &deep{N: 7}},
	}
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), written(t, doc)); diff != "" {
		t.Errorf("-encoding/json +render:\n%s", diff)
	}

	hostile := map[string]string{"key\x1b[31m\u202e": "\u009b2J\u200b" + strings.Repeat("long ", 20_000) + "\U000e0001"}
	text := written(t, hostile)
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') }); i >= 0 {
		t.Errorf("%q is written as it is", text[i:min(i+8, len(text))])
	}
	var again map[string]string
	if err := json.Unmarshal([]byte(text), &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(hostile, again); diff != "" {
		t.Error(diff)
	}
}

func written(t *testing.T, doc any) string {
	t.Helper()
	var b bytes.Buffer
	if err := render.Write(&b, "json", doc); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
