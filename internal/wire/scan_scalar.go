package wire

// readString reads b up to and including the quote that ends the string; the
// state is wantComma then.
func (s *scanner) readString(b []byte) int {
	i := 0
	for i < len(b) {
		if s.esc != 0 {
			s.keepBytes(b[i : i+1])
			if !s.escape(b[i]) {
				s.state = docBad
				return i
			}
			i++
			continue
		}
		n, c := plainRun(b[i:])
		s.keepBytes(b[i : i+n])
		i += n
		switch c {
		case '"':
			return i + s.quote()
		case '\\':
			s.keepBytes(b[i : i+1])
			s.esc, s.escaped = afterBackslash, true
			i++
		}
	}
	return i
}

func (s *scanner) quote() int {
	if s.state == inString {
		s.state = wantComma
		return 1
	}
	s.state = wantColon
	key := s.val
	if s.escaped {
		key = unescape(key)
	}
	if s.n > maxKey {
		key = nil
	}
	parent := slot(s.stack[len(s.stack)-1])
	s.ev.key(parent)
	s.slot = child(parent, key)
	return 1
}

func (s *scanner) keepBytes(b []byte) {
	s.n += len(b)
	if room := s.keep - len(s.val); room > 0 {
		s.val = append(s.val, b[:min(room, len(b))]...)
	}
}

// escape takes one byte of an escape sequence and reports whether it is one.
func (s *scanner) escape(c byte) bool {
	if s.esc < afterBackslash {
		s.esc--
		return isHex(c)
	}
	s.esc = 0
	switch c {
	case 'u':
		s.esc = 4
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
	default:
		return false
	}
	return true
}

func (s *scanner) endString(end int) {
	s.ev.str(s, end)
	s.ended()
}

func (s *scanner) readNumber(b []byte, base int) int {
	i := 0
	for i < len(b) && isNumberByte(b[i]) {
		i++
	}
	s.keepBytes(b[:i])
	if i < len(b) {
		s.endNumber(s.pos + base + i)
	}
	return i
}

func (s *scanner) endNumber(end int) {
	s.ev.number(s, end)
	s.ended()
}

func (s *scanner) readLiteral(b []byte) int {
	i := 0
	for i < len(b) && s.lit != "" {
		if b[i] != s.lit[0] {
			s.state = docBad
			return i
		}
		s.lit = s.lit[1:]
		i++
	}
	if s.lit == "" {
		s.ev.literal(s.slot, s.litKind)
		s.ended()
	}
	return i
}
