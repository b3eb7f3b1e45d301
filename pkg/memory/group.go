package memory

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Group returns the bytes at which the kernel kills this process: the limit of its control group or of one around it,
// cgroups(7); math.MaxInt64 if there is none.
func Group() int64 { return group("/sys/fs/cgroup", "/proc/self/cgroup") }

// group reads both versions of control groups: a line of the file is `5:memory:/path` in the first, `0::/path` in the second.
func group(root, file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return math.MaxInt64
	}
	least := int64(math.MaxInt64)
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) < 3:
		case fields[1] == "memory":
			least = min(least, leastAbove(filepath.Join(root, "memory"), fields[2], "memory.limit_in_bytes"))
		case fields[0] == "0":
			least = min(least, leastAbove(root, fields[2], "memory.max"))
		}
	}
	return least
}

// leastAbove returns the least limit of a group and those around it. A container may see its own group as the root.
func leastAbove(root, path, file string) int64 {
	least := int64(math.MaxInt64)
	for path = filepath.Join("/", path); ; path = filepath.Dir(path) {
		text, _ := os.ReadFile(filepath.Join(root, path, file))
		// Not a number is "max", and 0 a kernel that counts elsewhere.
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && n > 0 {
			least = min(least, n)
		}
		if path == "/" {
			return least
		}
	}
}
