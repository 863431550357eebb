package wire

import (
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Limit is what the headers of one response say about one limit. What a header
// does not say is -1, so that nothing left and nothing said stay apart.
type Limit struct {
	Name      string        // "requests", "tokens", "input_tokens", "tokens_month", or the name of an IETF policy
	Limit     int64         // allowed per window; -1 unknown
	Remaining int64         // left of it; -1 unknown
	Reset     time.Duration // until it opens or is full again; see HasReset and Refill
	HasReset  bool
	Refill    bool          // Reset is the time to a full bucket, longer than the wait for some of it
	Window    time.Duration // length of the window, if the header names it
	Unit      string        // "content-bytes", "concurrent-requests"; empty if the header does not say
	Used      float64       // share of the limit that is used up, 0 to 1; -1 unknown
	Status    string        // the host's own word, as "allowed" or "rejected"

	source string // the header that Reset comes from
}

// Exhausted reports whether nothing is left.
func (l Limit) Exhausted() bool {
	return l.Remaining == 0 || strings.EqualFold(l.Status, "rejected")
}

// Snapshot is what the headers of one response say about the capacity left.
type Snapshot struct {
	Limits    []Limit // by name
	QueryCost int64   // tokens that this call was charged; -1 unknown
}

// Get returns the limit of that name.
func (s Snapshot) Get(name string) (Limit, bool) {
	i := slices.IndexFunc(s.Limits, func(l Limit) bool { return l.Name == name })
	if i < 0 {
		return Limit{}, false
	}
	return s.Limits[i], true
}

// maxLimits bounds the limits of one snapshot.
const maxLimits = 32

// Pacing reads the rate limit headers of any provider, on good answers and bad.
// Times are measured against the server's Date header where there is one and
// against now otherwise. Placeholders, as Azure's -1 and LiteLLM's "None", are
// not figures, and a malformed structured field is ignored whole.
func Pacing(h http.Header, now time.Time) Snapshot {
	p := pacer{base: serverTime(h, now), limits: map[string]*Limit{}, voided: map[string]bool{}}
	s := Snapshot{QueryCost: -1}
	for _, key := range slices.Sorted(maps.Keys(h)) {
		if len(h[key]) == 0 {
			continue
		}
		name, value := strings.ToLower(key), strings.TrimSpace(h[key][0])
		switch {
		case name == "x-ratelimit-tokens-query-cost":
			s.QueryCost, _ = count(value)
		case name == "ratelimit", name == "ratelimit-policy":
			p.structured(name, strings.Join(h[key][:min(len(h[key]), maxLines)], ", "))
		default:
			p.plain(name, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.limits)) {
		if !p.voided[name] && len(s.Limits) < maxLimits {
			s.Limits = append(s.Limits, *p.limits[name])
		}
	}
	return s
}

// Paced reports whether [Pacing] may find a limit on requests or tokens per minute in
// h, whose keys are in canonical form, at the cost of a look at those keys.
func Paced(h http.Header) bool {
	for key := range h {
		for _, prefix := range [...]string{"X-Ratelimit-", "Anthropic-Ratelimit-", "Ratelimit", "X-Tokenlimit-"} {
			if strings.HasPrefix(key, prefix) {
				return true
			}
		}
	}
	return false
}

type pacer struct {
	base   time.Time
	limits map[string]*Limit
	voided map[string]bool // limits that carry the placeholder -1
}

func (p *pacer) limit(name string) *Limit {
	if p.limits[name] == nil {
		p.limits[name] = &Limit{Name: name, Limit: -1, Remaining: -1, Used: -1}
	}
	return p.limits[name]
}

// plain reads one header of the families that hold one figure per header.
func (p *pacer) plain(name, value string) {
	for prefix, family := range families {
		if after, ok := strings.CutPrefix(name, prefix); ok {
			part, dim, ok := family(after)
			if ok && len(dim) <= maxLabel {
				p.figure(name, part, dim, value)
			}
			return
		}
	}
}

// families are the header families by prefix; none is the prefix of another.
// Each takes a name apart into the part that it tells and the limit it is about.
var families = map[string]func(rest string) (part, dim string, ok bool){
	"x-ratelimit-": func(rest string) (string, string, bool) {
		part, dim, _ := strings.Cut(rest, "-")
		return part, dim, true
	},
	"x-tokenlimit-": func(rest string) (string, string, bool) { return rest, "tokens", true },
	"ratelimit-":    func(rest string) (string, string, bool) { return rest, "default", true },
	"anthropic-": func(rest string) (string, string, bool) {
		rest = strings.TrimPrefix(rest, "ratelimit-")
		i := strings.LastIndexByte(rest, '-')
		if i < 0 {
			return "", "", false
		}
		return rest[i+1:], rest[:i], true
	},
}

// figure notes one figure. Dimensions and parts that it does not know are left
// alone, because a header of a known prefix may mean anything.
func (p *pacer) figure(header, part, dim, value string) {
	name, window := dimension(dim)
	switch part {
	case "limit", "remaining":
		if strings.HasPrefix(value, "-") {
			p.voided[name] = true
		}
		value, _, _ = strings.Cut(value, ",") // drafts 03 to 06: "100, 100;w=60"
		n, ok := count(value)
		if !ok {
			return
		}
		l := p.limit(name)
		if l.Window = window; part == "limit" {
			l.Limit = n
		} else {
			l.Remaining = n
		}
	case "reset":
		if d, ok := resetIn(value, p.base); ok {
			l := p.limit(name)
			l.Reset, l.HasReset, l.Window, l.source = d, true, window, header
			l.Refill = header != "x-ratelimit-reset" && header != "ratelimit-reset" && !strings.HasPrefix(name, "unified")
		}
	case "utilization":
		if d, ok := decimal(value, time.Second); ok {
			p.limit(name).Used = d.Seconds()
		}
	case "status":
		if value != "" && len(value) <= maxLabel {
			p.limit(name).Status = value
		}
	}
}

// windows are the words for a window that end a dimension.
var windows = []struct {
	word   string
	length time.Duration
}{
	{"second", time.Second}, {"minute", time.Minute}, {"hour", time.Hour},
	{"day", 24 * time.Hour}, {"week", 7 * 24 * time.Hour}, {"month", 30 * 24 * time.Hour},
}

// dimension names the limit that the tail of a header is about. Limits per
// minute or less keep the plain name, longer ones carry their window in it.
func dimension(dim string) (name string, window time.Duration) {
	dim = strings.ReplaceAll(dim, "-", "_")
	base := dim
	for _, w := range windows {
		if before, ok := strings.CutSuffix(dim, "_"+w.word); ok {
			base, window = before, w.length
		}
	}
	if base == "" || base == "req" {
		base = "requests"
	}
	if window > time.Minute {
		return base + dim[strings.LastIndexByte(dim, '_'):], window
	}
	return base, window
}

// count reads a figure that is not negative; a fraction of it does not count.
func count(s string) (int64, bool) {
	whole, frac, dot := strings.Cut(strings.TrimSpace(s), ".")
	if !allDigits(whole) || dot && !allDigits(frac) {
		return -1, false
	}
	return int64(min(digits(whole), math.MaxInt64)), true
}
