package topology

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// All selects all workloads.
const All = "all"

// Select returns everything that a selector selects, in order. A selector is a text as for Resolve, which must be
// unambiguous, or a set:
//
//   - all or *: the workloads, which are pods, virtual machines and other ports with
//     an interface, except those of the nodes themselves;
//   - NAMESPACE/, ns:NAMESPACE or ns/NAMESPACE: the pods of a namespace, also NAMESPACE if nothing else has that name;
//   - svc:NAMESPACE/: its services;
//   - switch:NAME: the workloads on a switch, also NAME if nothing else has that name;
//   - node:NODE/: those on a node (node:NODE is the node itself);
//   - label:KEY or label:KEY=VALUE: those with this in the external_ids of
//     their port;
//   - a name with * or ?, as in a shell: shop/web-*, svc:*/*, node:worker-?.
//
// If nothing of these kinds is found, the error is an *NameError.
func (g *Graph) Select(text string, kinds ...Kind) ([]Match, error) {
	if len(kinds) == 0 {
		kinds = Endpoints
	}
	if word, rest, ok := g.typed(text); ok {
		text = word + ":" + rest // from pod/web
	}
	s := selector{Graph: g, text: text, kinds: kinds}
	found, isSet := s.set()
	switch {
	case !isSet:
		m, err := g.ResolveOne(text, kinds...)
		if err == nil {
			return []Match{m}, nil
		}
		if found = s.namespace(err); len(found) == 0 {
			found = s.network(err)
		}
		if len(found) == 0 {
			return nil, err
		}
	case len(found) == 0:
		return nil, &NameError{Text: text, Reason: s.reason, Nearest: s.nearest}
	}
	slices.SortStableFunc(found, func(a, b Match) int {
		return cmp.Or(CompareNames(a.Name, b.Name), strings.Compare(a.Zone, b.Zone))
	})
	distinguish(found)
	return found, nil
}

type selector struct {
	*Graph
	text  string
	kinds []Kind

	reason  string   // why nothing was found
	nearest []string // similar names
}

// set returns the members of a set; ok is false if the text is not a set.
func (s *selector) set() (found []Match, ok bool) {
	if s.text == All || s.text == "*" {
		s.reason = "no pod, VM or other workload was found"
		return s.workloads(func(*Port) bool { return true }), true
	}
	word, rest, prefixed := strings.Cut(s.text, ":")
	inside, slash := strings.CutSuffix(rest, "/")
	switch {
	case !prefixed:
		return s.pods(s.text)
	case word == "label":
		return s.labelled(rest), true
	case word == "ns" || word == "namespace" || word == "namespaces":
		return s.pods(inside + "/")
	case word == "pod" || word == "pods" || word == "po":
		return s.pods(rest)
	case word == "switch" || word == "ls" || word == "subnet" || word == "network":
		return s.on(KindSwitch, inside), true
	case (word == "node" || word == "chassis") && slash:
		return s.on(KindNode, inside), true
	case (word == "node" || word == "chassis") && hasWildcard(rest):
		return s.nodesLike(rest), true
	case (word == "svc" || word == "service") && (slash || hasWildcard(rest)):
		return s.services(rest), true
	}
	return nil, false
}

func hasWildcard(text string) bool { return strings.ContainsAny(text, "*?") }

// fits reports whether a name matches a pattern. Only * and ? are special.
func fits(pattern, name string) bool {
	if !hasWildcard(pattern) {
		return pattern == name
	}
	ok, err := path.Match(strings.NewReplacer(`\`, `\\`, `[`, `\[`).Replace(pattern), name)
	return ok && err == nil
}

// workloads returns the workloads whose port is wanted.
func (s *selector) workloads(wanted func(*Port) bool) []Match {
	hosts := map[*Port]bool{}
	for _, c := range s.Chassis {
		if p := s.HostPort(c); p != nil {
			hosts[p] = true
		}
	}
	r := resolver{Graph: s.Graph}
	var out []Match
	for _, p := range s.Ports {
		if p.isWorkload() && !hosts[p] && !s.standsIn(p) && wanted(p) {
			if m := r.port(p); slices.Contains(s.kinds, m.Kind) {
				out = append(out, m)
			}
		}
	}
	return out
}

// isWorkload reports whether a port's interface has something with addresses behind it. In another zone this is known
// only for pods.
func (p *Port) isWorkload() bool {
	if p.Kind != SwitchPort || len(p.MACs) == 0 || len(p.Addresses) == 0 {
		return false
	}
	return p.Type == "" || p.Type == "remote" && p.Pod != ""
}

// standsIn reports whether p stands for a port of another zone that is itself present.
func (g *Graph) standsIn(p *Port) bool { return p.Type == "remote" && g.PortByName(p.Name) != p }

// pods finds NAMESPACE/ and patterns of pod names.
func (s *selector) pods(pattern string) ([]Match, bool) {
	namespace, slash := strings.CutSuffix(pattern, "/")
	if !slash && !hasWildcard(pattern) {
		return nil, false
	}
	if slash {
		pattern += "*"
	}
	seen := map[string]bool{}
	found := s.workloads(func(p *Port) bool {
		ns, name, isPod := strings.Cut(p.Pod, "/")
		seen[ns+"/"] = isPod
		switch {
		case !isPod:
			return fits(pattern, p.Name) || p.DisplayName != "" && fits(pattern, p.DisplayName)
		case strings.Contains(pattern, "/"):
			return fits(pattern, p.Pod)
		}
		return fits(pattern, name)
	})
	s.reason = "no pod has such a name"
	if slash {
		s.reason = "no pod is in this namespace"
		s.nearest = nearest(namespace, known(seen))
	}
	return found, true
}

// namespace finds the pods of a namespace, given as a name that was not found otherwise.
func (s *selector) namespace(err error) []Match {
	name, ok := s.unfound(err)
	if !ok || strings.Contains(s.text, "/") {
		return nil
	}
	found, _ := s.pods(s.text + "/")
	name.Nearest = slices.Concat(s.nearest, name.Nearest)
	return found
}

// network finds the workloads on a switch, given by a name that was not found otherwise.
func (s *selector) network(err error) []Match {
	name, ok := s.unfound(err)
	if !ok {
		return nil
	}
	places, unknown := s.placesLike(KindSwitch, s.text)
	if unknown != nil {
		return nil
	}
	name.Reason = "no pod or VM is on this switch" // unless some are found
	return s.at(KindSwitch, places)
}

// unfound returns the error of a name without a kind that nothing has.
func (s *selector) unfound(err error) (*NameError, bool) {
	var name *NameError
	if !errors.As(err, &name) || len(name.Matches) > 0 || s.text == "" || strings.Contains(s.text, ":") {
		return nil, false
	}
	return name, true
}

func known(names map[string]bool) []string {
	var out []string
	for name, is := range names {
		if is {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, CompareNames)
	return out
}

// labelled finds KEY or KEY=VALUE in external_ids.
func (s *selector) labelled(text string) []Match {
	key, value, hasValue := strings.Cut(text, "=")
	keys, values := map[string]bool{}, map[string]bool{}
	found := s.workloads(func(p *Port) bool {
		for k := range p.ExternalIDs {
			keys["label:"+k] = true
		}
		v, has := p.ExternalIDs[key]
		if has {
			values["label:"+key+"="+v] = true
		}
		return has && (!hasValue || fits(value, v))
	})
	if len(values) > 0 {
		s.reason = fmt.Sprintf("the external_ids of no port have %q as %q", value, key)
		s.nearest = nearest("label:"+text, known(values))
	} else {
		s.reason = fmt.Sprintf("the external_ids of no port have a key %q", key)
		s.nearest = nearest("label:"+key, known(keys))
	}
	return found
}

// on finds the workloads on a switch or a node.
func (s *selector) on(kind Kind, name string) []Match {
	places, err := s.placesLike(kind, name)
	if err != nil {
		s.reason, s.nearest = err.Reason, err.Nearest
		return nil
	}
	s.reason = "no pod or VM runs there"
	return s.at(kind, places)
}

// at finds the workloads on switches, or on nodes.
func (s *selector) at(kind Kind, places []Match) []Match {
	return s.workloads(func(p *Port) bool {
		return slices.ContainsFunc(places, func(m Match) bool {
			if kind == KindSwitch {
				return p.Switch != nil && p.Switch.UUID == m.Switch.UUID
			}
			return m.Chassis != nil && p.Chassis == m.Chassis.Name
		})
	})
}

// placesLike returns the switches or nodes with a name or matching a pattern.
func (s *selector) placesLike(kind Kind, name string) ([]Match, *NameError) {
	if !hasWildcard(name) {
		m, err := s.Resolve(string(kind)+":"+name, kind)
		if err != nil {
			return nil, &NameError{Text: s.text, Reason: "no " + string(kind) + " has this name", Nearest: s.Nearest(name, kind)}
		}
		return m, nil
	}
	var out []Match
	for _, like := range s.Names(kind) {
		if fits(name, like) {
			m, err := s.Resolve(string(kind)+":"+like, kind)
			if err == nil {
				out = append(out, m...)
			}
		}
	}
	if len(out) == 0 {
		return nil, &NameError{Text: s.text, Reason: "no " + string(kind) + " has such a name", Nearest: s.Nearest(strings.Trim(name, "*?"), kind)}
	}
	return out, nil
}

// nodesLike returns the nodes that match a pattern.
func (s *selector) nodesLike(pattern string) []Match {
	if !slices.Contains(s.kinds, KindNode) {
		s.reason = "a node cannot be used here"
		return nil
	}
	found, err := s.placesLike(KindNode, pattern)
	if err != nil {
		s.reason, s.nearest = err.Reason, err.Nearest
	}
	return found
}

// services finds NAMESPACE/ and patterns of service names.
func (s *selector) services(pattern string) []Match {
	if !slices.Contains(s.kinds, KindService) {
		s.reason = "a service cannot be used here"
		return nil
	}
	namespace, slash := strings.CutSuffix(pattern, "/")
	if slash {
		pattern += "*"
	}
	services, namespaces := map[string]bool{}, map[string]bool{}
	var out []Match
	for _, lb := range s.LoadBalancers {
		if lb.Service == "" || services["svc:"+lb.Service] {
			continue
		}
		ns, _, _ := strings.Cut(lb.Service, "/")
		services["svc:"+lb.Service], namespaces["svc:"+ns+"/"] = true, true
		if fits(pattern, lb.Service) {
			r := resolver{Graph: s.Graph, kinds: s.kinds}
			r.service(lb.Service, false)
			out = append(out, r.matches...)
		}
	}
	s.reason, s.nearest = "no service has such a name", nearest("svc:"+strings.Trim(pattern, "*?/"), known(services))
	if slash {
		s.reason, s.nearest = "no service is in this namespace", nearest("svc:"+namespace+"/", known(namespaces))
	}
	return out
}
