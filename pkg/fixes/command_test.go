package fixes

import (
	"os/exec"
	"testing"
)

// Whatever a name is, a shell takes it as one word, and as itself.
func TestCommandIsQuoted(t *testing.T) {
	const evil = "x'; touch nowhere $(id) `id` \"\\\n-rf"
	out, err := exec.CommandContext(t.Context(), "sh", "-c", Command(`printf '<%%s>' %s a=%s %s %d`, evil, evil, []string{"b", evil, ""}, 7)).CombinedOutput()
	if want := "<" + evil + "><a=" + evil + "><b><" + evil + "><><7>"; err != nil || string(out) != want {
		t.Errorf("%v: %s\nwant %s", err, out, want)
	}
	if got := Command("ovn-nbctl lsp-del %s", "shop_web-1"); got != "ovn-nbctl lsp-del shop_web-1" {
		t.Errorf("a plain name is %s", got)
	}
}
