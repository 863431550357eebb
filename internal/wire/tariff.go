package wire

import "strings"

// A tariff is the rule by which a provider counts requests against its limit of
// tokens per minute.
type tariff uint8

const (
	// tariffOpen reserves the prompt and the limit of the output, and is settled
	// by the usage: DeepSeek, Mistral, relays, and everybody who is not known.
	tariffOpen tariff = iota
	// tariffNone counts nothing: counting tokens has a limit of its own.
	tariffNone
	// tariffOpenAI takes the larger of the prompt and the limit of the output. The
	// documentation says nothing about giving back; what is used beyond is added.
	tariffOpenAI
	// tariffFixed reserves as tariffOpen does and is never settled: Azure counts
	// at arrival only, and Kimi ignores what was really written.
	tariffFixed
	// tariffAnthropic reserves the prompt and is settled by the usage, in which
	// reading from a cache is free.
	tariffAnthropic
	// tariffBedrock reserves as tariffOpen does. Settled, reading from a cache is
	// free, and the output of newer Claude models counts five times.
	tariffBedrock
	// tariffGemini limits the input alone.
	tariffGemini
	// tariffGroq is tariffOpen with free reading from the cache.
	tariffGroq
)

// tariffOf tells the provider by the shape of the path, and by the host where
// several serve one shape.
func tariffOf(host, path string) tariff {
	path = strings.TrimSuffix(path, "/")
	switch method := path[strings.LastIndexByte(path, '/')+1:]; {
	case method == "count_tokens", method == "count-tokens", method == "input_tokens", strings.HasSuffix(method, ":countTokens"):
		return tariffNone
	case strings.Contains(path, "/publishers/anthropic/"):
		return tariffAnthropic
	case strings.HasSuffix(method, "Content"), strings.HasSuffix(method, "Contents"), strings.Contains(path, "/v1beta/openai/"):
		return tariffGemini
	case strings.Contains(path, "/model/") && (strings.HasPrefix(method, "converse") || strings.HasPrefix(method, "invoke")):
		return tariffBedrock
	case strings.Contains(path, "/openai/deployments/"):
		return tariffFixed
	case method == "messages":
		// Who sells other models under this shape is taken at its host; a host
		// nobody knows is a way to Anthropic.
		for _, seller := range sellers {
			if seller.messages && under(host, seller.domain) {
				return seller.tariff
			}
		}
		return tariffAnthropic
	}
	for _, seller := range sellers {
		if under(host, seller.domain) {
			return seller.tariff
		}
	}
	return tariffOpen
}

// sellers are the hosts whose rule the path does not tell.
var sellers = [...]struct {
	domain   string
	tariff   tariff
	messages bool // has models of its own, or of others, under Anthropic's shape
}{
	{"api.openai.com", tariffOpenAI, false},
	{"azure.com", tariffFixed, false},
	{"moonshot.ai", tariffFixed, true},
	{"moonshot.cn", tariffFixed, true},
	{"kimi.com", tariffFixed, true},
	{"groq.com", tariffGroq, true},
	{"anthropic.com", tariffAnthropic, false},
	{"amazonaws.com", tariffBedrock, false},
	{"deepseek.com", tariffOpen, true},
	{"openrouter.ai", tariffOpen, true},
	{"bigmodel.cn", tariffOpen, true},
	{"z.ai", tariffOpen, true},
	{"minimax.io", tariffOpen, true},
	{"aliyuncs.com", tariffOpen, true},
}

// under reports whether host, which may have a port, is domain or within it.
func under(host, domain string) bool {
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	n := len(host) - len(domain)
	return n >= 0 && strings.EqualFold(host[n:], domain) && (n == 0 || host[n-1] == '.')
}
