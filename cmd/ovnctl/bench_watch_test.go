//go:build lab

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	caching "github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/model"
	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// BenchmarkFollow has several programs follow the databases of 50 nodes, and of 250 with 611,000 logical flows, side by side: how much processor time each takes until it has
// all rows, how much while port bindings change, and its memory in the end. The servers' own time is not in it.
func BenchmarkFollow(b *testing.B) {
	b.Run("50-nodes", func(b *testing.B) { follow(b, scale.Small) })
	b.Run("250-nodes", func(b *testing.B) { follow(b, scale.Large) })
}

func follow(b *testing.B, size scale.Size) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	program := buildOvnctl(b)
	d := scale.Start(b, size)
	followers := []struct {
		name string
		args []string
		env  string
	}{
		{"ovnctl-watch", []string{program, "watch", "-o", "json", "--nb", d.NB.Remote(), "--sb", d.SB.Remote()}, ""},
		{"ovsdb-client-monitor-Port_Binding", []string{"ovsdb-client", "monitor", d.SB.Remote(), "OVN_Southbound", "Port_Binding"}, ""},
		{"ovsdb-client-monitor-ALL", []string{"ovsdb-client", "monitor", d.SB.Remote(), "OVN_Southbound", "ALL"}, ""},
		{"libovsdb-cache-ALL", []string{self}, asLibovsdb + "=" + d.SB.Remote()},
	}
	for b.Loop() {
		ctx, stop := context.WithCancel(b.Context())
		var running []*exec.Cmd
		for _, f := range followers {
			cmd := exec.CommandContext(ctx, f.args[0], f.args[1:]...)
			cmd.Env = append(os.Environ(), "OVS_RUNDIR="+b.TempDir())
			if f.env != "" {
				cmd.Env = append(cmd.Env, f.env)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				b.Fatal(err)
			}
			said := &strings.Builder{}
			cmd.Stderr = said
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			defer func() { b.Logf("%s: %.500s", f.name, said) }()
			go func() { _, _ = io.Copy(io.Discard, bufio.NewReader(out)) }()
			running = append(running, cmd)
			untilQuiet(b, cmd.Process.Pid, d.NB.Process.Pid, d.SB.Process.Pid)
			b.ReportMetric(timeOfProcess(b, cmd.Process.Pid).Seconds(), f.name+"-s")
		}
		var before []time.Duration
		for _, cmd := range running {
			before = append(before, timeOfProcess(b, cmd.Process.Pid))
		}
		const span = 40 * time.Second
		begin, changes := time.Now(), 0
		for ; time.Since(begin) < span; changes++ {
			d.SB.Transact(fmt.Sprintf(`{"op":"update","table":"Port_Binding","where":[["logical_port","==",%q]],"row":{"up":%v}}`, d.Pod(changes%d.Nodes, changes/d.Nodes%d.Size.Pods).Port, changes/(d.Nodes*d.Size.Pods)%2 == 1))
			time.Sleep(10 * time.Millisecond)
		}
		took := time.Since(begin)
		b.ReportMetric(float64(changes)/took.Seconds(), "changes/s")
		for i, cmd := range running {
			b.ReportMetric(100*(timeOfProcess(b, cmd.Process.Pid)-before[i]).Seconds()/took.Seconds(), followers[i].name+"-%")
			if rss, runs := resident(b, cmd.Process.Pid); runs {
				b.ReportMetric(float64(rss)/(1<<20), followers[i].name+"-MiB")
			}
		}
		stop()
		for _, cmd := range running {
			_ = cmd.Wait()
		}
	}
}

// untilQuiet waits until processes have used next to no time for two seconds.
func untilQuiet(b *testing.B, pids ...int) {
	b.Helper()
	used := func() (all time.Duration) {
		for _, pid := range pids {
			all += timeOfProcess(b, pid)
		}
		return all
	}
	last, since := used(), time.Now()
	for time.Since(since) < 2*time.Second {
		time.Sleep(50 * time.Millisecond)
		if now := used(); now > last+20*time.Millisecond {
			last, since = now, time.Now()
		}
	}
}

// resident is the memory of a process, in bytes, if it runs still: not every program survives a large database.
func resident(b *testing.B, pid int) (bytes int64, runs bool) {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, runs := strings.Cut(string(status), "\nVmRSS:")
	if !runs {
		return 0, false
	}
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib << 10, true
}

// asLibovsdb in the environment, the remote of a Southbound, makes the test binary hold all its tables in the cache of libovsdb's client.
const asLibovsdb = "OVNCTL_TEST_AS_LIBOVSDB"

func init() {
	if remote := os.Getenv(asLibovsdb); remote != "" {
		child = func() {
			fmt.Fprintln(os.Stderr, holdCache(remote))
			os.Exit(1)
		}
	}
}

func holdCache(remote string) error {
	ctx := context.Background()
	own, err := ovsdb.Dial(ctx, ovsdb.Config{DB: "OVN_Southbound", Remotes: remote})
	if err != nil {
		return err
	}
	feed, err := own.Feed(ctx)
	if err != nil {
		return err
	}
	var schema libovsdb.DatabaseSchema
	if err := json.Unmarshal(feed.Schema(), &schema); err != nil {
		return err
	}
	feed.Close()
	types := map[string]model.Model{}
	for name, table := range schema.Tables {
		fields := []reflect.StructField{{Name: "UUID", Type: reflect.TypeFor[string](), Tag: `ovsdb:"_uuid"`}}
		var columns []string
		for column := range table.Columns {
			columns = append(columns, column)
		}
		slices.Sort(columns)
		for i, column := range columns {
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("C%d", i), Type: libovsdb.NativeType(table.Columns[column]), Tag: reflect.StructTag(fmt.Sprintf("ovsdb:%q", column))})
		}
		types[name] = reflect.New(reflect.StructOf(fields)).Interface()
	}
	models, err := model.NewClientDBModel(schema.Name, types)
	if err != nil {
		return err
	}
	silent := logr.Discard()
	c, err := caching.NewOVSDBClient(models, caching.WithEndpoint(remote), caching.WithLogger(&silent))
	if err != nil {
		return err
	}
	if err := c.Connect(ctx); err != nil {
		return err
	}
	if _, err := c.MonitorAll(ctx); err != nil {
		return err
	}
	select {}
}
