package node

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// An Ahead asks a node on another host what somebody is likely to ask of it next: the questions go with the next one that is
// asked anyway, in one round trip. Each answer is given once. Of other nodes, where questions cost little, it asks nothing.
type Ahead struct{ r *remote }

// AskAhead returns the Ahead of a node.
func AskAhead(h Host) Ahead {
	r, _ := h.(*remote)
	return Ahead{r}
}

// Possible reports whether it asks anything.
func (a Ahead) Possible() bool { return a.r != nil }

// Begin reads the node's state in the background; who asks for it meanwhile waits for that.
func (a Ahead) Begin(ctx context.Context) {
	if a.r != nil {
		go func() { _, _ = a.r.gather(ctx, networkPart) }() // whoever needs it gets the error
	}
}

// Send asks in the background what is to go ahead, and does not wait for the next question; who asks for it meanwhile waits for that.
func (a Ahead) Send(ctx context.Context) {
	if a.r == nil {
		return
	}
	asked := a.r.ahead.send()
	if len(asked) == 0 {
		return
	}
	go func() {
		parts, _ := a.r.shells.ask(ctx, question{}.script(asked, a.r.Version), a.r.Timeout, a.r.Timeout) // what is not there is asked again
		a.r.ahead.keep(asked, parts)
		a.r.ahead.landed(asked)
	}()
}

// Control asks ahead what [Host.Control] will.
func (a Ahead) Control(daemon, command string, args ...string) {
	if a.r != nil && checkControl(daemon, command, args) == nil {
		a.r.ahead.want(askControl(daemon, command, args))
	}
}

// Dump asks ahead what [Host.Dump] will.
func (a Ahead) Dump(bridge string, kind DumpKind) {
	if a.r != nil && checkDump(bridge, kind) == nil {
		a.r.ahead.want(askDump(bridge, kind))
	}
}

// Pod asks ahead what [Host.Pod] will, if the namespace has a name.
func (a Ahead) Pod(ctx context.Context, link string) {
	if a.r == nil {
		return
	}
	n, err := a.r.Network(ctx)
	if err != nil {
		return
	}
	here := n.Link(link)
	if here == nil || podLink(here) != nil {
		return
	}
	if a.r.answersItself(ctx) {
		a.r.ahead.want(askOwnPod(link))
		return
	}
	if name, err := a.r.namedNetns(ctx, here); err == nil && name != "" {
		a.r.ahead.want(askPod(enterNetns(namedPath(name))))
	}
}

// A question is what a script asks of a node: of its daemons, of its kernel, or of both, side by side. Of daemons a script asks one
// thing at a time. own is the same as a [request].
type question struct{ daemons, kernel, own string }

// aheads are the questions that are to go with the next one, and the answers to those that went. Each is of daemons or of the
// kernel.
type aheads struct {
	mu      sync.Mutex
	wanted  []question
	sent    map[question]chan struct{} // closed when the answer is there, or will not be
	answers map[question]map[string]part
}

// mostAhead bounds what goes with one question.
const mostAhead = 32

func (a *aheads) want(q question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.wanted) < mostAhead {
		a.wanted = append(a.wanted, q)
	}
}

// send takes what is to go ahead for one who asks it at once.
func (a *aheads) send() []question {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.wanted
	a.wanted = nil
	for _, q := range list {
		if a.sent == nil {
			a.sent = map[question]chan struct{}{}
		}
		if a.sent[q] == nil {
			a.sent[q] = make(chan struct{})
		}
	}
	return list
}

// landed ends the wait for what was sent.
func (a *aheads) landed(asked []question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range asked {
		if c := a.sent[q]; c != nil {
			close(c)
			delete(a.sent, q)
		}
	}
}

// take returns the answer to a question that went ahead. It waits for one that is under way.
func (a *aheads) take(ctx context.Context, q question) (map[string]part, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.sent[q]; c != nil {
		a.mu.Unlock()
		select {
		case <-c:
		case <-ctx.Done():
		}
		a.mu.Lock()
	}
	parts, ok := a.answers[q]
	delete(a.answers, q)
	return parts, ok
}

// next returns what is to go with a question, which leaves it out itself.
func (a *aheads) next(q question) []question {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []question
	for _, w := range a.wanted {
		if w != q {
			list = append(list, w)
		}
	}
	a.wanted = nil
	return list
}

// keep takes the answers of what went ahead out of the parts of a script. One that is not whole is none: it will be asked.
func (a *aheads) keep(asked []question, parts map[string]part) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, q := range asked {
		answer, prefix := map[string]part{}, aheadName(i)
		for name, p := range parts {
			if rest, ok := strings.CutPrefix(name, prefix); ok {
				answer[rest] = p
				delete(parts, name)
			}
		}
		if _, whole := answer[aheadEnd]; !whole {
			continue
		}
		if a.answers == nil {
			a.answers = map[question]map[string]part{}
		}
		a.answers[q] = answer
	}
}

func aheadName(i int) string { return fmt.Sprintf("ahead%d/", i) }

// aheadEnd is the part after the others of what goes ahead.
const aheadEnd = "end"

// script asks a question, and with it those that go ahead: those of daemons beside those of the kernel, whose answers wait in a
// pipe. Those of daemons go one after the other until a command gets no reply in time (ovs-appctl -T and the like); those after it
// are asked when they are needed. An ovnctl there of the given version answers instead, unless that is empty.
func (q question) script(ahead []question, version string) script {
	by, requests := q.byTools(ahead), q.requests(ahead)
	text := string(marshal(requests))
	if version == "" || requests == nil || len(text) > mostRequests {
		return script{text: by}
	}
	return script{requests: requests, text: fmt.Sprintf(
		"command -v ovnctl >/dev/null 2>&1 && ovnctl answer --each \"$SECONDS_EACH\" --ovs-rundir \"$ovs\" --ovn-rundir \"$ovn\" %s %s \"$B\" 2>/dev/null || {\n%s}\n",
		shellQuote(version), shellQuote(text), by)}
}

func (q question) byTools(ahead []question) string {
	daemons, kernel := q.daemons, q.kernel
	for i, also := range ahead {
		end := fmt.Sprintf("ended %s\nA=\n", aheadEnd)
		if also.daemons != "" {
			daemons += fmt.Sprintf("case $r in 124|142) late=1 ;; esac\n[ -n \"$late\" ] || { A=%s\n%s\n%s}\n", aheadName(i), also.daemons, end)
		} else {
			kernel += fmt.Sprintf("A=%s\n%s\n%s", aheadName(i), also.kernel, end)
		}
	}
	switch {
	case kernel == "":
		return "r= late=\n" + daemons
	case daemons == "":
		return kernel
	}
	return "kernel() {\n" + kernel + "}\nservers() {\nr= late=\n" + daemons + "}\nkernel | { servers; cat; }\n"
}

// run asks a question, together with what goes ahead, or returns the answer if it went ahead itself.
func (r *remote) run(ctx context.Context, q question, each, total time.Duration) (map[string]part, error) {
	if parts, ok := r.ahead.take(ctx, q); ok {
		return parts, nil
	}
	also := r.ahead.next(q)
	parts, err := r.shells.ask(ctx, q.script(also, r.Version), each, total)
	r.ahead.keep(also, parts)
	return parts, err
}
