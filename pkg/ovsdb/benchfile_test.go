//go:build lab

package ovsdb_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// asks names the question that a process of its own, the test binary run again, puts to the file that openFile names.
const (
	asks     = "OVNCTL_BENCH_ASKS"
	openFile = "OVNCTL_BENCH_FILE"
)

// TestMain is also the process of its own that BenchmarkLargeFile measures, whose memory the kernel knows.
func TestMain(m *testing.M) {
	if question := os.Getenv(asks); question != "" {
		rows, err := ask(question, os.Getenv(openFile))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		most, err := peak(os.Getpid())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("rows=%d MB=%d\n", rows, most)
		return
	}
	os.Exit(m.Run())
}

// ask opens a file and returns how many rows answer a question.
func ask(question, path string) (int, error) {
	snap, err := ovsdb.OpenFile(path)
	if err != nil {
		return 0, err
	}
	if d := snap.Damage(); d != "" {
		return 0, errors.New(d)
	}
	defer runtime.KeepAlive(snap)
	ctx := context.Background()
	if question == "chassis and ports" {
		chassis, err1 := ovsdb.Find[sb.Chassis](ctx, snap)
		ports, err2 := ovsdb.Find[sb.PortBinding](ctx, snap)
		return len(chassis) + len(ports), errors.Join(err1, err2)
	}
	var where []ovsdb.Condition
	if question == "one datapath's flows" {
		datapaths, err := ovsdb.Find[sb.DatapathBinding](ctx, snap)
		if err != nil {
			return 0, err
		}
		where = append(where, ovsdb.Where("logical_datapath", "==", datapaths[0].UUID))
	}
	flows, err := ovsdb.Find[sb.LogicalFlow](ctx, snap, where...)
	if err == nil && len(flows) == 0 {
		err = errors.New("no flows")
	}
	return len(flows), err
}

// BenchmarkLargeFile opens a Southbound file of 300 MB, and puts questions to it, beside an ovsdb-server that
// loads it until it listens. Each is a process of its own; MB is the most memory that it had.
func BenchmarkLargeFile(b *testing.B) {
	s := startFlows(b, 900_000)
	s.Kill()
	info, err := os.Stat(s.File)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("a file of %d MB", info.Size()>>20)
	b.Run("ovsdb-server", func(b *testing.B) {
		most := 0
		for b.Loop() {
			server := ovsdbtest.Serve(b, ovsdbtest.Dir(b), s.File, s.DB)
			b.StopTimer()
			used, err := peak(server.Process.Pid)
			if err != nil {
				b.Fatal(err)
			}
			most = max(most, used)
			server.Kill()
			b.StartTimer()
		}
		b.ReportMetric(float64(most), "MB")
	})
	for _, question := range []string{"chassis and ports", "one datapath's flows", "all flows"} {
		b.Run(question, func(b *testing.B) {
			most, rows := 0, 0
			for b.Loop() {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), asks+"="+question, openFile+"="+s.File)
				out, err := cmd.CombinedOutput()
				if err != nil {
					b.Fatalf("%v: %s", err, out)
				}
				var used int
				if _, err := fmt.Sscanf(string(out), "rows=%d MB=%d", &rows, &used); err != nil {
					b.Fatalf("%s: %v", out, err)
				}
				most = max(most, used)
			}
			b.ReportMetric(float64(most), "MB")
			b.ReportMetric(float64(rows), "rows")
		})
	}
}

// peak is the most memory that a running process had, in MB. What the kernel tells a
// parent of a child that has ended counts the parent's own, too.
func peak(pid int) (int, error) {
	text, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "status"))
	if err != nil {
		return 0, err
	}
	_, after, _ := bytes.Cut(text, []byte("VmHWM:"))
	kb, _, _ := bytes.Cut(bytes.TrimSpace(after), []byte(" "))
	n, err := strconv.Atoi(string(kb))
	return n / 1024, err
}
