package render

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// atPath returns the text of a template of kubectl's JSONPath, filled in from a document. What is missing is left out.
func atPath(template string, doc any) (string, error) {
	parsed, err := parsePath(template)
	if err != nil {
		return "", err
	}
	data, err := plainData(doc)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := parsed.Execute(&b, data); err != nil {
		return "", pathError(template, err)
	}
	return b.String(), nil
}

// valuesAt returns the values at a path of one object, as text. As in kubectl's custom-columns, the braces and the first
// point may be left out.
func valuesAt(path string, data any) ([]string, error) {
	inside := strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}")
	if !strings.HasPrefix(inside, ".") && !strings.HasPrefix(inside, "[") {
		inside = "." + inside
	}
	parsed, err := parsePath("{" + inside + "}")
	if err != nil {
		return nil, err
	}
	found, err := parsed.FindResults(data)
	if err != nil {
		return nil, pathError(path, err)
	}
	var out []string
	for _, results := range found {
		for _, v := range results {
			text, err := valueText(v)
			if err != nil {
				return nil, err
			}
			out = append(out, text)
		}
	}
	return out, nil
}

// valueText returns a scalar as it is, and anything else as JSON.
func valueText(v reflect.Value) (string, error) {
	value := v.Interface()
	switch value.(type) {
	case []any, map[string]any:
		b, err := compact(value)
		return strings.TrimSuffix(string(b), "\n"), err
	}
	return fmt.Sprint(value), nil
}

func parsePath(template string) (*jsonpath.JSONPath, error) {
	parsed := jsonpath.New("").AllowMissingKeys(true)
	if err := parsed.Parse(template); err != nil {
		return nil, pathError(template, err)
	}
	return parsed, nil
}

func pathError(template string, err error) error {
	return ViewError{fmt.Errorf("JSONPath %q: %w\nhint: as kubectl takes it: '{range .items[*]}{.name}{\"\\n\"}{end}'", template, err)}
}
