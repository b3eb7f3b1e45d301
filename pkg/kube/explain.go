package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
)

// A rule is what the user must be allowed to do.
type rule struct {
	resource string
	verbs    []string
}

// A Refusal is a request that the user is not allowed to make.
type Refusal struct {
	err  error
	rule rule
}

func (r *Refusal) Error() string { return r.err.Error() }

// Unwrap returns what the API server said.
func (r *Refusal) Unwrap() error { return r.err }

// Hint says which rule to add.
func (r *Refusal) Hint() string {
	return fmt.Sprintf(`have this rule added to a role of that user: apiGroups: [""], resources: [%s], verbs: [%s]; docs/nodes.md has the whole role`,
		r.rule.resource, strings.Join(r.rule.verbs, ", "))
}

// An exit is how sh ended.
type exit struct{ exec.ExitError }

// ExitCode returns its exit status.
func (e exit) ExitCode() int { return e.ExitStatus() }

// explain adds to an error of the API server what it is about and what to do.
func (k *Cluster) explain(err error, needed rule) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if e, ok := errors.AsType[exec.ExitError](err); ok && e.Exited() {
		return exit{e}
	}
	cause := err
	if e, ok := errors.AsType[*httpstream.UpgradeFailureError](err); ok { // it wraps nothing
		cause = e.Cause
	}
	err = fmt.Errorf("kubernetes, context %q: %w", k.name, err)
	if apierrors.IsForbidden(cause) {
		return &Refusal{err, needed}
	}
	return err
}
