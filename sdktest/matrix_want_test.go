package sdktest

// matrix has for each situation and SDK what is seen without Steady, what is seen
// with it, and in brackets what is seen with it if only the first answer was so
// and that is something else. The columns are those of streams; one is empty where the
// dialect knows no such thing.
var matrix = map[string][7]string{
	"a whole answer": {
		"whole → whole", "whole → whole", "whole → whole",
		"whole → whole", "whole → whole", "whole → whole", "whole → whole",
	},
	"160 keep-alive comments, then a whole answer": {
		"whole → whole", "whole → whole", "whole → whole",
		"untyped → untyped", "whole → whole", "whole → whole", "untyped → untyped",
	},
	"a relay strips the `event:` lines": {
		"", "SILENT, nothing → whole", "SILENT, nothing → whole",
		"", "", "whole → whole", "",
	},
	"a clean end before the terminator": {
		"SILENT, part → part, truncated", "SILENT, part → part, truncated", "SILENT, part → part, truncated",
		"SILENT, part → part, truncated", "SILENT, part → part, truncated", "part, untyped → part, truncated", "SILENT, part → part, truncated",
	},
	"a clean end within a `data:` line": {
		"SILENT, part → part, truncated", "SILENT, part → part, truncated", "SILENT, part → part, truncated",
		"SILENT, part → part, truncated", "SILENT, part → part, truncated", "part, unexpected EOF → part, unexpected EOF", "part, untyped → part, untyped",
	},
	"the connection is closed": {
		"part, unexpected EOF → part, truncated", "part, unexpected EOF → part, truncated", "part, unexpected EOF → part, truncated",
		"part, unexpected EOF → part, truncated", "part, unexpected EOF → part, truncated", "part, unexpected EOF → part, truncated", "part, unexpected EOF → part, truncated",
	},
	"the connection is reset": {
		"part, reset → part, truncated", "part, reset → part, truncated", "part, reset → part, truncated",
		"part, reset → part, truncated", "part, reset → part, truncated", "part, reset → part, truncated", "part, reset → part, truncated",
	},
	"`data: {\"error\":…}` first": {
		"StreamError → typed 529 (whole)", "SILENT, nothing → typed 529 (whole)", "SILENT, nothing → typed 529 (whole)",
		"typed 0 → typed 529 (whole)", "SILENT, nothing → text 529 (whole)", "untyped → text 529 (whole)", "SILENT, nothing → typed 529 (whole)",
	},
	"`data: {\"error\":…}` after content": {
		"part, StreamError → part, StreamError", "SILENT, part → part, AnswerError", "SILENT, part → part, AnswerError",
		"part, typed 0 → part, typed 0", "SILENT, part → part, AnswerError", "part, untyped → part, untyped", "SILENT, part → part, AnswerError",
	},
	"`data: {\"error\":…}` after content, then `[DONE]`": {
		"part, StreamError → part, StreamError", "", "",
		"part, typed 0 → part, typed 0", "SILENT, part → part, AnswerError", "", "",
	},
	"`event: error` first": {
		"StreamError → typed 529 (whole)", "typed 200 → typed 529 (whole)", "typed 200 → typed 529 (whole)",
		"untyped → typed 529 (whole)", "SILENT, nothing → text 529 (whole)", "untyped → text 529 (whole)", "",
	},
	"`event: error` after content": {
		"part, StreamError → part, StreamError", "part, typed 200 → part, typed 200", "part, typed 200 → part, typed 200",
		"part, untyped → part, untyped", "SILENT, part → part, AnswerError", "part, untyped → part, untyped", "",
	},
	"a comment, then `data: {\"error\":…}`": {
		"StreamError → typed 529 (whole)", "SILENT, nothing → typed 529 (whole)", "SILENT, nothing → typed 529 (whole)",
		"untyped → typed 529 (whole)", "SILENT, nothing → text 529 (whole)", "untyped → text 529 (whole)", "untyped → typed 529 (whole)",
	},
	"a JSON error as the body": {
		"SILENT, nothing → typed 529 (whole)", "SILENT, nothing → typed 529 (whole)", "SILENT, nothing → typed 529 (whole)",
		"SILENT, nothing → typed 529 (whole)", "SILENT, nothing → text 529 (whole)", "untyped → text 529 (whole)", "typed 503 → typed 503 (whole)",
	},
	"an empty body": {
		"SILENT, nothing → typed 502 (whole)", "SILENT, nothing → typed 502 (whole)", "SILENT, nothing → typed 502 (whole)",
		"SILENT, nothing → typed 502 (whole)", "SILENT, nothing → text 502 (whole)", "untyped → text 502 (whole)", "SILENT, nothing → typed 502 (whole)",
	},
	"a page of HTML": {
		"SILENT, nothing → typed 502 (whole)", "SILENT, nothing → typed 502 (whole)", "SILENT, nothing → typed 502 (whole)",
		"SILENT, nothing → untyped (whole)", "SILENT, nothing → untyped (whole)", "untyped → untyped (whole)", "untyped → typed 502 (whole)",
	},
	"`finish_reason: insufficient_system_resource`": {
		"SILENT, part → part, AnswerError", "", "",
		"SILENT, part → part, AnswerError", "SILENT, part → part, AnswerError", "", "",
	},
	"a stall before content": {
		"HANG → stalled", "HANG → stalled", "HANG → stalled",
		"HANG → stalled", "HANG → stalled", "HANG → stalled", "HANG → stalled",
	},
	"a stall after content": {
		"HANG → part, stalled", "HANG → part, stalled", "HANG → part, stalled",
		"HANG → part, stalled", "HANG → part, stalled", "HANG → part, stalled", "HANG → part, stalled",
	},
	"a stall after content, and keep-alives go on": {
		"HANG → part, stalled", "HANG → part, stalled", "HANG → part, stalled",
		"part, untyped → part, stalled", "HANG → part, stalled", "HANG → part, stalled", "part, untyped → part, untyped",
	},
}
