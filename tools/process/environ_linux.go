package process

import (
	"strconv"
	"strings"
)

// carryPrefix begins the names under which a supervisor is handed the variables that
// only its command shall have: under their own, such as LD_PRELOAD, they would change
// the supervisor.
const carryPrefix = "HECATE_COMMAND_ENV_"

// carried hides variables from the supervisor.
func carried(set []string) []string {
	out := make([]string, len(set))
	for i, s := range set {
		out[i] = carryPrefix + strconv.Itoa(i) + "=" + s
	}
	return out
}

// commandEnv is the environment of the command, made from its supervisor's.
func commandEnv(environ []string) []string {
	var env, set []string
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, carryPrefix) {
			set = append(set, value)
			continue
		}
		env = append(env, e)
	}
	return overridden(env, set)
}
