package line

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// someone is the least that can wait.
type someone struct {
	Place
	name int
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }

// callers is a line of n calls, one a second, each of which may wait for a minute.
func callers(n int) *Line[*someone] {
	l := &Line[*someone]{}
	for i := range n {
		l.Add(&someone{Place: Place{Began: at(i), Until: at(i + 60)}, name: i})
	}
	return l
}

func TestWhoseTurnIsNext(t *testing.T) {
	const all, some = 1.0, 0.4 // a second: thirty calls need half a minute at the one, more than one at the other
	for _, tt := range []struct {
		name      string
		waiting   int
		perSecond float64
		may       time.Duration // how long the last may wait; 0 for ever
		now, want int
	}{
		{"the oldest while all can be served", 30, all, time.Minute, 30, 0},
		{"the oldest of the fresh beyond that", 30, some, time.Minute, 30, 28},
		{"the oldest if the latest can wait for ever", 30, some, 0, 30, 0},
		{"the oldest while it is fresh itself", 2, 0.001, time.Minute, 1, 0},
		{"the oldest if none is fresh", 3, 0.001, time.Minute, 30, 0},
		{"nobody if nobody waits", 0, all, time.Minute, 30, -1},
	} {
		l, got := callers(tt.waiting), -1
		if tt.may == 0 {
			l.Latest().Until = time.Time{}
		}
		if w := l.Next(at(tt.now), tt.perSecond, time.Second); w != nil {
			got = w.name
		}
		if got != tt.want {
			t.Errorf("%s: %d is next, want %d", tt.name, got, tt.want)
		}
	}
}

func TestAReSendHasThePlaceOfItsCall(t *testing.T) {
	l := callers(3)
	l.Remove(l.Oldest())
	back := &someone{Place: Place{Began: at(1).Add(-time.Millisecond), Until: at(70)}, name: 9}
	l.Add(back)
	if got := l.Next(at(4), 10, time.Second); got != back {
		t.Errorf("%d is next, want the one that came back", got.name)
	}
}

func TestALineIsCrowdedUntilNobodyNeedWaitLong(t *testing.T) {
	l := callers(30)
	for _, step := range []struct {
		perSecond float64
		want      bool
	}{{1, false}, {0.4, true}, {1, true}, {14.9, true}, {15, false}, {1, false}} {
		l.Next(at(30), step.perSecond, time.Second)
		if got := l.Crowded(); got != step.want {
			t.Errorf("at %v a second: crowded is %v, want %v", step.perSecond, got, step.want)
		}
	}
}

func TestWhoHasLeftCountsNoMore(t *testing.T) {
	l := callers(3)
	for _, w := range slices.Collect(l.All()) {
		l.Remove(w)
		l.Remove(w)
		if !w.Left() {
			t.Errorf("%d has not left", w.name)
		}
	}
	if got := l.Next(at(5), 1, 0); got != nil || l.Len() != 0 || l.Latest() != nil {
		t.Errorf("%v is next of %d, want nobody", got, l.Len())
	}
}

// A line whose oldest call stays long keeps nobody who has left behind it.
func TestWhoLeavesTheMiddleOfALineIsForgotten(t *testing.T) {
	var l Line[*someone]
	now := start
	join := func() *someone {
		now = now.Add(time.Millisecond)
		w := &someone{Place: Place{Began: now, Cost: 1}}
		l.Add(w)
		return w
	}
	oldest := join()
	for range 10_000 {
		w := join()
		join()
		l.Remove(l.Latest())
		last := join()
		l.Remove(w)
		l.Remove(last)
	}
	latest := join()
	for range 10_000 {
		w := &someone{Place: Place{Began: now.Add(-time.Microsecond), Cost: 1}}
		l.Add(w)
		l.Remove(w)
	}
	if got := len(l.all); got > 128 {
		t.Errorf("the line keeps %d waiters for 2 that wait", got)
	}
	if owed, _ := l.Owed(); l.Len() != 2 || owed != 2 || l.Oldest() != oldest || l.Latest() != latest {
		t.Errorf("%d wait, owing %d", l.Len(), owed)
	}
}

// named is a line whose waiters are found by their names.
type named struct {
	line Line[*someone]
	all  map[int]*someone
}

func (l *named) add(c naiveCall) {
	if l.all == nil {
		l.all = map[int]*someone{}
	}
	w := &someone{Place: Place{Began: c.began, Until: c.until, Cost: c.cost, Tokens: c.tokens}, name: c.name}
	l.all[c.name] = w
	l.line.Add(w)
}

func (l *named) remove(name int) { l.line.Remove(l.all[name]) }

func (l *named) next(now time.Time, perSecond float64, need time.Duration) int {
	return nameOf(l.line.Next(now, perSecond, need))
}

func (l *named) ends() (oldest, latest int) { return nameOf(l.line.Oldest()), nameOf(l.line.Latest()) }

func (l *named) names() (names []int) {
	for w := range l.line.All() {
		names = append(names, w.name)
	}
	return names
}

func nameOf(w *someone) int {
	if w == nil {
		return -1
	}
	return w.name
}

// naive is a line that does all by looking at everybody.
type naive []naiveCall

type naiveCall struct {
	name         int
	began, until time.Time
	cost, tokens int
}

// add puts c behind all that did not begin later.
func (l *naive) add(c naiveCall) {
	i := len(*l)
	for i > 0 && (*l)[i-1].began.After(c.began) {
		i--
	}
	*l = slices.Insert(*l, i, c)
}

func (l *naive) remove(name int) {
	*l = slices.DeleteFunc(*l, func(c naiveCall) bool { return c.name == name })
}

func (l naive) names() (names []int) {
	for _, c := range l {
		names = append(names, c.name)
	}
	return names
}

// next is the rule as the comments of Line have it.
func (l naive) next(now time.Time, perSecond float64, need time.Duration) int {
	const freshFor = 2 * time.Second
	if len(l) == 0 {
		return -1
	}
	if last := l[len(l)-1]; float64(len(l))/perSecond < (last.until.Sub(now) - need).Seconds() {
		return l[0].name // all can be served
	}
	for _, c := range l {
		if now.Sub(c.began) <= freshFor {
			return c.name // the oldest of the fresh
		}
	}
	return l[0].name
}

// FuzzLine plays moves against a line and a naive one. Each move takes two bytes:
// what to do, and with whom or when.
func FuzzLine(f *testing.F) {
	f.Add([]byte("0102030405"))
	f.Add([]byte{0, 10, 0, 5, 0, 200, 3, 1, 4, 40, 3, 0, 4, 90, 0, 255})
	f.Add([]byte{0, 1, 1, 2, 2, 3, 0, 4, 3, 1, 3, 1, 4, 255, 4, 255, 0, 0})
	f.Fuzz(func(t *testing.T, moves []byte) { playLine(t, moves[:min(len(moves), 400)]) })
}

func TestALineIsWhatANaiveOneWouldBe(t *testing.T) {
	luck := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		moves := make([]byte, 400)
		for i := range moves {
			moves[i] = byte(luck.Uint32())
		}
		playLine(t, moves)
	}
}

func playLine(t *testing.T, moves []byte) {
	now, names := time.Unix(1e9, 0), 0
	var l named
	var model naive
	for ; len(moves) >= 2; moves = moves[2:] {
		switch n := int(moves[1]); moves[0] % 5 {
		case 0, 1: // somebody comes, whose call began now or up to 5 s ago
			began := now.Add(-time.Duration(n) * 20 * time.Millisecond * time.Duration(moves[0]%5))
			c := naiveCall{names, began, now.Add(time.Duration(n) * 100 * time.Millisecond), 1 + n%3, n}
			names++
			model.add(c)
			l.add(c)
		case 2, 3: // somebody leaves
			if len(model) > 0 {
				name := model[n%len(model)].name
				model.remove(name)
				l.remove(name)
			}
		default: // time passes
			now = now.Add(time.Duration(n) * 10 * time.Millisecond)
		}
		wantLine(t, &l, model, now)
	}
}

// wantLine checks that l and model agree on everything.
func wantLine(t *testing.T, l *named, model naive, now time.Time) {
	t.Helper()
	var cost, tokens int
	oldest, latest := -1, -1
	for i, c := range model {
		cost, tokens, latest = cost+c.cost, tokens+c.tokens, c.name
		if i == 0 {
			oldest = c.name
		}
	}
	live := l.line.Len()
	gotCost, gotTokens := l.line.Owed()
	if live != len(model) || gotCost != cost || gotTokens != tokens {
		t.Fatalf("%d wait at a cost of %d and %d tokens, want %d, %d and %d", live, gotCost, gotTokens, len(model), cost, tokens)
	}
	if live == 0 && len(l.line.all) != 0 {
		t.Fatalf("an empty line keeps %d", len(l.line.all))
	}
	if a, b := l.ends(); a != oldest || b != latest {
		t.Fatalf("the line goes from %d to %d, want %d to %d", a, b, oldest, latest)
	}
	if got, want := l.names(), model.names(); !slices.Equal(got, want) {
		t.Fatalf("%v are in line, want %v", got, want)
	}
	for _, perSecond := range []float64{0.05, 1, 20, 1e9} {
		for _, need := range []time.Duration{1, 3 * time.Second} {
			if got, want := l.next(now, perSecond, need), model.next(now, perSecond, need); got != want {
				t.Fatalf("at %v a second, with %v needed: %d is next, want %d", perSecond, need, got, want)
			}
		}
	}
}
