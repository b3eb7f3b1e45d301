package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/docs"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// TestPages holds that every check has its page, with its own title, and every page a check.
func TestPages(t *testing.T) {
	for _, c := range checks.All {
		page, ok := docs.Page("checks/" + c.Name)
		if !ok {
			t.Errorf("docs/checks/%s.md is missing", c.Name)
			continue
		}
		title, body, _ := strings.Cut(page, "\n")
		if want := "# " + c.Name + ": " + c.Title(); title != want {
			t.Errorf("docs/checks/%s.md begins with %q, want %q", c.Name, title, want)
		}
		for _, section := range []string{"## Symptom", "## Cause", "## How it is seen", "## Sources"} {
			if !strings.Contains(body, "\n"+section+"\n") {
				t.Errorf("docs/checks/%s.md has no %q", c.Name, section)
			}
		}
	}
	files, err := os.ReadDir("../../docs/checks")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".md"); name != "README" && checks.Find(name) == nil {
			t.Errorf("docs/checks/%s is about no check", f.Name())
		}
	}
}

// TestRepairsFitChecks holds that every repair fixes what a check finds.
func TestRepairsFitChecks(t *testing.T) {
	names := map[string]bool{}
	for _, r := range catalog.Repairs {
		if checks.Find(r.Check) == nil {
			t.Errorf("repair %s is for check %q, which does not exist", r.Name, r.Check)
		}
		if names[r.Name] || r.Doc == "" || r.Class == "" || r.Risk == "" || r.Plan == nil {
			t.Errorf("repair %s is there twice or not complete", r.Name)
		}
		names[r.Name] = true
	}
}

func TestDoctorMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"doctor", "--only", "uplink"}, "did you mean"},
		{[]string{"doctor", "--category", "node"}, "the categories are node-os"},
		{[]string{"doctor", "--fail-on", "bad"}, "expected error, warning or never"},
		{[]string{"doctor", "-o", "csv"}, "expected one of table"},
		{[]string{"doctor", "a", "b", "c"}, "hint: ovnctl doctor"},
		{[]string{"explain", "uplink"}, "did you mean"},
		{[]string{"explain", "xyz"}, "--list-checks"},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), c.args, strings.NewReader(""), &out, &errs); code != exitUsage || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%v: exit %d, %q, want 2 and %q", c.args, code, errs.String(), c.says)
		}
	}
}

// TestReportIsCleaned holds that what anybody wrote into a row does not reach the terminal.
func TestReportIsCleaned(t *testing.T) {
	evil := "x\x1b[2Jy\u202e"
	f := doctor.Finding{
		Check: evil, Result: doctor.Error, Title: evil, Object: doctor.Object{Kind: evil, Name: evil, Node: evil},
		Evidence: []doctor.Evidence{{Source: doctor.Other(evil), Says: evil}}, Cause: evil, Effect: evil, Next: evil,
		Fix: &fixes.Call{Repair: evil, Args: []string{evil}, OneWay: evil},
	}
	under := f
	f.Consequences = []doctor.Finding{under, {Check: evil, Result: doctor.Unknown, Title: evil}}
	doc := doctor.Document{
		Envelope: document.New("Report", nil, []string{evil}),
		Report:   doctor.Report{Findings: []doctor.Finding{f, {Check: evil, Result: doctor.Unknown, Title: evil, Object: f.Object}}, Passed: []string{evil}},
	}
	for _, format := range render.DoctorFormats {
		var b bytes.Buffer
		if err := render.Doctor(&b, render.Style{Width: 80}, format, doc, render.DoctorView{About: evil, Unread: []string{evil}, Sources: []string{evil}, Next: []string{evil}}); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(b.String(), "\x1b\u202e") {
			t.Errorf("%s: an escape came through: %q", format, b.String())
		}
	}
}
