package kubernetes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

const apiServer = "k8s.io/kubernetes/cmd/kube-apiserver"

// build builds the programs, if they are not yet there, into the user's cache folder, and returns that place. The API server takes
// ten minutes of two processors the first time; the kubelet is built anew each time, which Go's own cache makes quick.
func build(ctx context.Context) (string, error) {
	_, file, _, _ := runtime.Caller(0)
	module := filepath.Join(filepath.Dir(file), "testdata", "programs")
	version, err := exec.CommandContext(ctx, "go", "list", "-C", module, "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").Output()
	if err != nil {
		return "", fmt.Errorf("go list k8s.io/kubernetes: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "ovnctl", "kubernetes", strings.TrimSpace(string(version)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	packages := []string{"./kubelet"}
	if _, err := os.Stat(filepath.Join(dir, filepath.Base(apiServer))); err != nil {
		packages = append(packages, apiServer)
	}
	for _, p := range packages {
		name := filepath.Base(p)
		cmd := exec.CommandContext(ctx, "go", "build", "-C", module, "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, name+".new"), p)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w: %s", p, err, out)
		}
		if err := os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	return dir, nil
}
