package ovnexpr

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Each action prints as text that parses to an equal one.

func (*Drop) String() string { return "drop;" }

func (a *Plain) String() string { return a.Name + word(a.Name == "handle_bfd_msg", "()", "") + ";" }

func (a *Next) String() string {
	var args []string
	if a.Pipeline != "" {
		args = append(args, "pipeline="+a.Pipeline)
	}
	if a.HasTable && a.Pipeline == "" {
		args = append(args, strconv.Itoa(a.Table))
	} else if a.HasTable {
		args = append(args, "table="+strconv.Itoa(a.Table))
	}
	if len(args) == 0 {
		return "next;"
	}
	return "next(" + strings.Join(args, ", ") + ");"
}

func (a *Load) String() string { return a.To.String() + " = " + a.Value.String() + ";" }

func (a *Move) String() string { return a.To.String() + " = " + a.From.String() + ";" }

func (a *Exchange) String() string { return a.A.String() + " <-> " + a.B.String() + ";" }

func (a *Push) String() string { return "push(" + a.Field.String() + ");" }

func (a *Pop) String() string { return "pop(" + a.Field.String() + ");" }

func (*DecTTL) String() string { return "ip.ttl--;" }

func (a *Nested) String() string { return a.Name + braces(a.Actions) }

func braces(a Actions) string {
	if len(a) == 0 {
		return " { };"
	}
	return " { " + a.String() + " };"
}

func (a *Call) String() string {
	args := make([]string, len(a.Args))
	for i, f := range a.Args {
		args[i] = f.String()
	}
	s := a.Name + "(" + strings.Join(args, ", ") + ");"
	if a.Result != nil {
		return a.Result.String() + " = " + s
	}
	return s
}

func (a *CTNext) String() string { return "ct_next" + zone(a.Zone) }

func zone(name string) string {
	if name == "" {
		return ";"
	}
	return "(" + name + ");"
}

func (a *CTCommit) String() string {
	switch {
	case a.Nested:
		return "ct_commit" + braces(a.Actions)
	case len(a.Old) > 0:
		return "ct_commit(" + parameters(a.Old, "=") + ");"
	}
	return "ct_commit;"
}

func parameters(p []Parameter, equals string) string {
	s := make([]string, len(p))
	for i, one := range p {
		s[i] = one.Name + equals + one.Values.String()
	}
	return strings.Join(s, ", ")
}

func (a *CTCommitTo) String() string { return a.Name + zone(a.Zone) }

func (a *CTNAT) String() string {
	s := "^" + a.Var
	if a.Var == "" {
		if !a.To.IsValid() {
			return a.Name + ";"
		}
		s = a.To.String()
	}
	if a.Lo != 0 {
		s += "," + strconv.Itoa(int(a.Lo))
	}
	if a.Hi != 0 {
		s += "-" + strconv.Itoa(int(a.Hi))
	}
	return a.Name + "(" + s + ");"
}

// String writes the backend as actions name it.
func (b Backend) String() string {
	if b.LogicalPort != "" {
		return quote(b.LogicalPort) + ":" + b.Endpoint()
	}
	return b.Endpoint()
}

// Endpoint writes where the backend is reached: 10.0.0.1:80, [fd00::1]:80, fd00::1.
func (b Backend) Endpoint() string {
	if b.Var != "" {
		return "^" + b.Var + word(b.Port != 0, ":"+strconv.Itoa(int(b.Port)), "")
	}
	if b.Port == 0 {
		return b.Addr.String()
	}
	return netip.AddrPortFrom(b.Addr, b.Port).String()
}

func (a *CTLB) String() string {
	if len(a.Backends) == 0 && a.HashFields == "" && a.Flag == "" {
		return a.Name + ";"
	}
	s := make([]string, len(a.Backends))
	for i, b := range a.Backends {
		s[i] = b.String()
		if a.Name == "ct_lb_mark_local" && b.Var == "" { // also with a port that is called nothing
			at := b.Endpoint()
			if strings.HasPrefix(at, ":") { // which ends the name, too
				at = "[" + at + "]"
			}
			s[i] = quote(b.LogicalPort) + ":" + at
		}
	}
	text := a.Name + "(backends=" + strings.Join(s, ",")
	if a.HashFields != "" {
		text += "; hash_fields=" + quote(a.HashFields)
	}
	if a.Flag != "" {
		text += "; " + a.Flag
	}
	return text + ");"
}

func (a *Select) String() string {
	s := make([]string, len(a.Members))
	for i, m := range a.Members {
		s[i] = strconv.Itoa(int(m.ID))
		if m.Weight != 0 {
			s[i] += "=" + strconv.Itoa(int(m.Weight))
		}
	}
	list := strings.Join(s, ", ")
	if a.HashFields != "" {
		return a.To.String() + " = select(values=(" + list + "); hash_fields=" + quote(a.HashFields) + ");"
	}
	return a.To.String() + " = select(" + list + ");"
}

func (a *PutOptions) String() string {
	return a.Result.String() + " = " + a.Name + "(" + parameters(a.Options, " = ") + ");"
}

func (a *CheckPacketLarger) String() string {
	return a.Result.String() + " = check_pkt_larger(" + strconv.Itoa(a.Bytes) + ");"
}

func (a *DHCPRelay) String() string {
	return a.Result.String() + " = " + a.Name + "(" + a.Relay.String() + ", " + a.Server.String() + ");"
}

func (a *SetQueue) String() string { return "set_queue(" + strconv.Itoa(a.Queue) + ");" }

func (a *SetMeter) String() string {
	if a.Burst != 0 {
		return fmt.Sprintf("set_meter(%d, %d);", a.Rate, a.Burst)
	}
	return fmt.Sprintf("set_meter(%d);", a.Rate)
}

func (a *Log) String() string {
	values := map[string]string{"verdict": a.Verdict, "severity": a.Severity, "name": quote(a.Name), "meter": quote(a.Meter)}
	order := a.order
	if order == nil {
		for _, key := range []string{"name", "verdict", "severity", "meter"} {
			if v := values[key]; v != "" && v != `""` {
				order = append(order, key)
			}
		}
	}
	return "log(" + arguments(order, values, ", ") + ");"
}

func arguments(order []string, values map[string]string, sep string) string {
	s := make([]string, len(order))
	for i, key := range order {
		s[i] = key + "=" + values[key]
	}
	return strings.Join(s, sep)
}

func (a *Sample) String() string {
	point := strconv.FormatUint(uint64(a.Point), 10)
	switch {
	case a.Cookie:
		point = "$cookie"
	case a.PointField != nil:
		point = a.PointField.String()
	}
	order := a.order
	if order == nil {
		order = []string{"probability", "collector_set", "obs_domain", "obs_point"}
	}
	return "sample(" + arguments(order, map[string]string{
		"probability":   strconv.Itoa(int(a.Probability)),
		"collector_set": strconv.FormatUint(uint64(a.CollectorSet), 10),
		"obs_domain":    strconv.Itoa(int(a.Domain)),
		"obs_point":     point,
	}, ",") + ");"
}

func (a *ForwardGroup) String() string {
	var args []string
	if a.Liveness != "" {
		args = append(args, "liveness="+quote(a.Liveness))
	}
	ports := make([]string, len(a.Ports))
	for i, p := range a.Ports {
		ports[i] = quote(p)
	}
	args = append(args, "childports="+strings.Join(ports, ", "))
	return "fwd_group(" + strings.Join(args, ", ") + ");"
}

func (a *CommitECMP) String() string {
	return "commit_ecmp_nh(ipv6 = " + strconv.FormatBool(a.IPv6) + ", proto = " + a.Proto + ");"
}

func (a *CommitAffinity) String() string {
	s := "commit_lb_aff(vip = " + quote(a.VIP.String()) + ", backend = " + quote(a.Backend.String())
	if a.Proto != "" {
		s += ", proto = " + a.Proto
	}
	return s + ", timeout = " + strconv.Itoa(int(a.Timeout)) + ");"
}

// String writes the endpoint as a load balancer key: 10.0.0.1:80, [fd00::1]:80, [fd00::1].
func (e Endpoint) String() string {
	switch {
	case e.Port != 0:
		return netip.AddrPortFrom(e.Addr, e.Port).String()
	case e.Addr.Is6():
		return "[" + e.Addr.String() + "]"
	}
	return e.Addr.String()
}

func (a *TriggerEvent) String() string {
	s := "trigger_event(event = " + quote(a.Event)
	if len(a.Options) > 0 {
		s += ", " + parameters(a.Options, " = ")
	}
	return s + ");"
}

func (a *BindVirtual) String() string {
	return "bind_vport(" + quote(a.Port) + ", " + a.Parent.String() + ");"
}

func (a *Mirror) String() string { return "mirror(" + quote(a.Port) + ");" }
