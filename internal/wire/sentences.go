package wire

import "strings"

// No host has a name of its own for everything, and none says it in the words of
// another. What they have in common is what a sentence speaks of and what it says
// about it; the groups below are those words, and one sentence must have one of
// each. Words are in lower case and count as whole words only.

var (
	// "too many tokens: the prompt cannot exceed 4081", "Range of input length
	// should be [1, 98304]". A limit on the output does not speak of the prompt.
	promptTooLong = [][]string{
		{"prompt", "input", "inputs", "messages", "context", "输入", "上下文", "提示词"},
		{"token", "tokens", "input length", "prompt length", "model length", "sequence length", "长度"},
		{"exceed", "exceeds", "exceeded", "too many", "too long", "longer than", "larger than", "greater than", "more than", "must be <=",
			"length should be", "maximum", "超过", "超出", "超限", "过长"},
	}
	purseEmpty = [][]string{
		{"credit", "credits", "balance", "funds", "free tier", "free quota", "余额", "额度"},
		{"insufficient", "exhausted", "used up", "used all", "too low", "out of", "run out", "ran out", "not enough", "depleted",
			"don't have", "doesn't have", "do not have", "does not have", "不足", "用尽", "用完", "耗尽"},
	}
	accountSuspended = [][]string{
		{"account", "organization", "workspace", "project", "账户", "账号"},
		{"suspended", "disabled", "deactivated", "停用", "冻结"},
		{"spend", "spending", "pay", "payment", "invoice", "invoices", "billing", "balance", "欠费", "余额"},
	}
	longWindow  = []string{"per day", "/day", "/ day", "daily", "per week", "weekly", "per month", "/month", "/ month", "monthly", "每日", "每天", "今日", "当日", "每周", "每月"}
	shortWindow = []string{"per second", "/s", "per min", "per minute", "/min", "/ min", "/ minute", "per hour", "每秒", "每分钟", "每小时"}
	busyWords   = []string{"overloaded", "high demand", "over capacity", "at capacity", "no capacity", "server busy", "server is busy", "访问量过大", "服务器繁忙"}
)

// sentence holds for an error one sentence of which has a word of every group. It
// must be a field of the error: the prose of whatever stands in front of the
// provider may speak of anything.
func sentence(groups [][]string) func(*answer) bool {
	return func(a *answer) bool {
		for rest := a.words; a.json && rest != ""; {
			var one string
			if one, rest = cutSentence(rest); hasEach(one, groups) {
				return true
			}
		}
		return false
	}
}

// cutSentence returns the first sentence of s and what comes after it.
func cutSentence(s string) (one, rest string) {
	end, next := len(s), len(s)
	for _, stop := range [...]string{". ", "! ", "? ", "。", "\n"} {
		if i := strings.Index(s[:end], stop); i >= 0 {
			end, next = i, i+len(stop)
		}
	}
	return s[:end], s[next:]
}

func hasEach(s string, groups [][]string) bool {
	for _, words := range groups {
		if !hasWord(s, words) {
			return false
		}
	}
	return true
}

// hasWord reports whether s has one of words, with no letter, digit or underscore
// of the same word around it. Chinese has no such borders.
func hasWord(s string, words []string) bool {
	for _, w := range words {
		for from := 0; ; {
			i := strings.Index(s[from:], w)
			if i < 0 {
				break
			}
			i += from
			from = i + 1
			end := i + len(w)
			if (i == 0 || !inName(s[i-1]) || !inName(w[0])) && (end == len(s) || !inName(s[end]) || !inName(w[len(w)-1])) {
				return true
			}
		}
	}
	return false
}

func inName(c byte) bool { return isWordByte(c) || c == '_' }

// longWait holds for a limit per day or longer that gives no time: what comes back
// tomorrow need not be asked for in a loop. With a time it can be waited for, or
// given up at once, and a body that broke off may have had one.
func longWait(a *answer) bool {
	return !a.partial && hasWord(a.words, longWindow) && !hasWord(a.words, shortWindow) && !a.timed()
}

// busy holds for words of an overloaded host, where no field says that it was the
// caller's own rate.
func busy(a *answer) bool {
	return hasWord(a.words, busyWords) && !named("rate_limit_exceeded", "requests", "tokens")(a)
}

// below500 holds where test does, for a status that does not speak of the server.
func below500(test func(*answer) bool) func(*answer) bool {
	return func(a *answer) bool { return a.status < 500 && test(a) }
}

// The names of errors are made of words too, and each host makes its own of the
// same few. A name has a group if all words of one of its lines are in it.
var (
	moneyNames = [][]string{
		{"billing"}, {"arrearage"}, {"arrears"}, {"spend", "limit"}, {"spending", "limit"}, {"free", "tier", "only"},
		{"insufficient", "balance"}, {"insufficient", "credit"}, {"insufficient", "credits"}, {"insufficient", "funds"}, {"insufficient", "quota"},
		{"credit", "exhausted"}, {"credits", "exhausted"}, {"balance", "exhausted"},
	}
	busyNames = [][]string{{"overloaded"}, {"overload"}, {"capacity"}, {"busy"}}
)

// namedIn holds for an error that has a name with one of these groups of words. A
// name that says that some service is down is about that, whatever it is for.
func namedIn(groups [][]string) func(*answer) bool {
	return func(a *answer) bool { return a.wordedIn(groups) }
}

func (e *envelope) wordedIn(groups [][]string) bool {
	for name := range e.names {
		words := "_" + name + "_"
		if strings.Contains(words, "_unavailable_") {
			continue
		}
		for _, group := range groups {
			if hasAll(words, group) {
				return true
			}
		}
	}
	return false
}

func hasAll(words string, group []string) bool {
	for _, w := range group {
		if !strings.Contains(words, "_"+w+"_") {
			return false
		}
	}
	return true
}

// snake returns a name in camel case, or with dots, in the form that fold gives to
// the others: "DataInspectionFailed" is data_inspection_failed.
func snake(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		upper := 'A' <= c && c <= 'Z'
		switch {
		case c == '.':
			c = '_'
		case upper && i > 0 && (isLower(s[i-1]) || i+1 < len(s) && isLower(s[i+1]) && isWordByte(s[i-1])):
			b.WriteByte('_')
		}
		b.WriteByte(c)
	}
	return fold(b.String())
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
