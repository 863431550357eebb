package wire

// Glance judges a body that is all there: it reports whether p is one JSON object
// and a whole answer without an error, and what it says of usage. That is what a
// [Decoder] of a JSON body says that has no failure and is complete at its end,
// in less than half the time. Where a Decoder might say anything else, or it takes
// a closer look to tell, Glance reports false.
//
//go:noinline
func Glance(p []byte) (Usage, bool) {
	g := glance{b: p}
	return g.judge()
}

func (g *glance) judge() (Usage, bool) {
	if g.next() != '{' || !g.object(slotRoot, 0) || len(trimSpace(g.b[g.i:])) > 0 {
		return Usage{}, false
	}
	if g.ev.failed() || g.ev.kind == kindPing || g.ev.done == doneFalse {
		return Usage{}, false
	}
	return g.ev.counts.usage(), true
}

// A glance reads one JSON document that lies in memory, with the schema and the
// event of a scanner. Having all of it, it need not be able to stop at any byte.
// Its methods report false where the document is not JSON, or is none of the usual.
type glance struct {
	b    []byte
	i    int // what has been read of b
	s    scanner
	ev   event
	form *form // is to learn b; or nil
}

// glanceDeepest is how deep a usual answer nests.
const glanceDeepest = 64

// next returns the next byte that is not white space, and 0 at the end.
func (g *glance) next() byte {
	for g.i < len(g.b) {
		c := g.b[g.i]
		g.i++
		if c > ' ' || !isSpace(c) {
			return c
		}
	}
	return 0
}

// object reads on behind the brace of an object in slot in.
func (g *glance) object(in slot, depth int) bool {
	if depth == glanceDeepest {
		return false
	}
	g.ev.open(in, false)
	for c := g.next(); c != '}'; {
		if c != '"' {
			return false
		}
		key, escaped, ok := g.text()
		if !ok || escaped || g.next() != ':' {
			return false
		}
		if len(key) > maxKey {
			key = nil
		}
		g.ev.key(in)
		if !g.value(g.next(), child(in, key), depth+1) {
			return false
		}
		if c = g.next(); c == ',' {
			if c = g.next(); c == '}' {
				return false
			}
		} else if c != '}' {
			return false
		}
	}
	return g.close(in)
}

// array reads on behind the bracket of an array in slot in.
func (g *glance) array(in slot, depth int) bool {
	if depth == glanceDeepest {
		return false
	}
	g.ev.open(in, true)
	for c := g.next(); c != ']'; {
		if !g.value(c, element(in), depth+1) {
			return false
		}
		if c = g.next(); c == ',' {
			if c = g.next(); c == ']' {
				return false
			}
		} else if c != ']' {
			return false
		}
	}
	return g.close(in)
}

// close takes the end of a container. A choice that has failed needs a closer look.
func (g *glance) close(in slot) bool {
	return in != slotChoice && in != slotCandidate || !failureFinish(g.ev.cur.finish)
}

// value reads the value in slot in that begins with c.
func (g *glance) value(c byte, in slot, depth int) bool {
	switch c {
	case '"':
		text, escaped, ok := g.text()
		return ok && g.takeString(text, escaped, in)
	case '{':
		return g.object(in, depth)
	case '[':
		return g.array(in, depth)
	case 't':
		return g.literal("rue", c, in)
	case 'f':
		return g.literal("alse", c, in)
	case 'n':
		return g.literal("ull", c, in)
	}
	return (c == '-' || '0' <= c && c <= '9') && g.number(in)
}

// text reads on behind the quote of a string and returns its inside as it stands.
func (g *glance) text() (text []byte, escaped, ok bool) {
	rest := g.b[g.i:]
	for n, c := range rest[:min(len(rest), 24)] { // as most are
		if c == '"' {
			g.i += n + 1
			return rest[:n], false, true
		}
		if c == '\\' {
			break
		}
	}
	return g.longText()
}

func (g *glance) longText() (text []byte, escaped, ok bool) {
	start := g.i
	for {
		n, c := plainRun(g.b[g.i:])
		g.i += n + 1
		switch c {
		case '"':
			return g.b[start : g.i-1], escaped, true
		case '\\':
			n := escapeLen(g.b[g.i-1:])
			if n == 0 {
				return nil, false, false
			}
			escaped = true
			g.i += n - 1
		default:
			return nil, false, false
		}
	}
}

// takeString notes a string. What is only content makes no difference to whether
// the answer is whole.
func (g *glance) takeString(text []byte, escaped bool, in slot) bool {
	switch {
	case in == slotBytes:
		return false
	case in >= slotType && in <= slotCode, in == slotException:
		if escaped || len(text) > keepScalar {
			return false
		}
	case in != slotMessage && (in < slotError || in > slotErrors):
		g.form.hole(g.b, g.i-1-len(text), g.i-1, holeAny, 0)
		return true
	}
	g.s.slot, g.s.n, g.s.val = in, len(text), text
	g.ev.str(&g.s, 0)
	return true
}

func (g *glance) number(in slot) bool {
	start := g.i - 1
	for g.i < len(g.b) && isNumberByte(g.b[g.i]) {
		g.i++
	}
	text := g.b[start:g.i]
	switch {
	case in >= slotError && in <= slotErrors, len(text) > keepScalar:
		return false
	case in == slotIndex, in == slotFinish, in == slotCode, in >= slotCount:
		g.s.slot, g.s.val = in, text
		g.ev.number(&g.s, 0)
		if in >= slotCount {
			g.form.hole(g.b, start, g.i, holeCount, in)
		}
	default:
		g.form.hole(g.b, start, g.i, holeNumber, 0)
	}
	return true
}

func (g *glance) literal(rest string, kind byte, in slot) bool {
	if !hasPrefix(g.b[g.i:], rest) {
		return false
	}
	g.i += len(rest)
	g.ev.literal(in, kind)
	return true
}
