package topology

import "strings"

// hidden stands for the value of a secret.
const hidden = "<hidden>"

// secrets are parts of the keys whose values are nobody's to see.
var secrets = []string{"token", "password", "secret", "psk", "key-data"}

// Redact returns m without the values of keys that name a secret. The maps of
// all documents go through it. An empty map comes back as nil.
func Redact(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		if secret(k) {
			v = hidden
		}
		out[k] = v
	}
	return out
}

func secret(key string) bool {
	key = strings.ToLower(key)
	for _, s := range secrets {
		if strings.Contains(key, s) {
			return true
		}
	}
	return false
}
