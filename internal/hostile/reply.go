package hostile

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Reply draws a reply to a control command, which is one JSON object: of other types, deep, long, with names that come twice, or
// damaged.
func Reply(draw *rand.Rand) []byte {
	member := func() string {
		return one(draw, "null", strconv.Quote(word(draw)), value(draw, draw.IntN(4)), strconv.Quote(strings.Repeat(word(draw), 1+draw.IntN(100))), deep(draw), `"\ud800"`, `"`+"\x1b[2J\n"+`"`)
	}
	text := fmt.Sprintf(`{"id":%s,"result":%s,"error":%s}`, one(draw, "0", number(draw), "null", `"0"`), member(), member())
	switch draw.IntN(8) {
	case 0:
		text = member()
	case 1:
		text = fmt.Sprintf(`{"result":%s,"result":%s}%s`, member(), member(), member())
	case 2:
		text = `{"id":0,"method":"version","params":[]}` + text
	case 3:
		return damaged(draw, []byte(text))
	}
	return []byte(text)
}
