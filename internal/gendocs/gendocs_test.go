package gendocs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func sample() *cobra.Command {
	root := &cobra.Command{Use: "net", Short: "Look at a network", Version: "1.2"}
	root.PersistentFlags().StringP("private-key", "p", "", "private key `file` for ssl remotes")
	show := &cobra.Command{
		Use:   "show [NAME...]",
		Short: "Show what's there",
		Long: `show prints a tree.
.dots at the start of a line and \ are text.

Read it as

  switch  sw0

Exit status:
  0  shown
  2  usage`,
		Example: "  net show sw0 | grep 'a-b'",
		Run:     func(*cobra.Command, []string) {},
	}
	show.Flags().Int("depth", 3, "levels to show")
	hidden := &cobra.Command{Use: "secret", Hidden: true, Run: show.Run}
	root.AddCommand(show, hidden)
	return root
}

func TestPage(t *testing.T) {
	show, _, err := sample().Find([]string{"show"})
	if err != nil {
		t.Fatal(err)
	}
	want := `.TH "NET\-SHOW" 8 "" "net 1.2" "System Administration"
.ad l
.nh
.SH "NAME"
net\-show \- Show what\(aqs there
.SH "SYNOPSIS"
.B "net show [NAME...] [flags]"
.SH "DESCRIPTION"
.PP
show prints a tree.
\&.dots at the start of a line and \e are text.
.PP
Read it as
.RS 4
.nf
switch  sw0
.fi
.RE
.SH "EXIT STATUS"
.RS 4
.nf
0  shown
2  usage
.fi
.RE
.SH "OPTIONS"
.TP
\fB\-\-depth\fR \fIint\fR
levels to show (default 3)
.TP
\fB\-h\fR, \fB\-\-help\fR
help for show
.SH "GLOBAL OPTIONS"
.TP
\fB\-p\fR, \fB\-\-private\-key\fR \fIfile\fR
private key file for ssl remotes
.SH "EXAMPLES"
.RS 4
.nf
net show sw0 | grep \(aqa\-b\(aq
.fi
.RE
.SH "SEE ALSO"
\fBnet\fR(8),
\fBovn\-nbctl\fR(8),
\fBovn\-sbctl\fR(8),
\fBovn\-trace\fR(8),
\fBovs\-vsctl\fR(8),
\fBovs\-vswitchd\fR(8)
`
	if diff := cmp.Diff(want, page(show)); diff != "" {
		t.Errorf("page mismatch (-want +got):\n%s", diff)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	if err := Write(sample(), dir); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range found {
		found[i] = strings.TrimPrefix(name, dir+"/")
	}
	want := []string{"completions/_net", "completions/net.bash", "completions/net.fish", "man/net-show.8", "man/net.8"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("files mismatch (-want +got):\n%s", diff)
	}
	root, err := os.ReadFile(filepath.Join(dir, "man", "net.8"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(root), ".BR \"net\\-show\" \" (8)\"\nShow what\\(aqs there\n") || strings.Contains(string(root), "secret") {
		t.Errorf("net.8 lists the wrong commands:\n%s", root)
	}
}
