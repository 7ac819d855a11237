package main

import "path/filepath"

// userConfigDir is where the user's permission file lies; "" if there is no such place.
func userConfigDir(environ map[string]string) string {
	if dir := environ["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		return filepath.Join(dir, "hecate")
	}
	if home := environ["HOME"]; filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "hecate")
	}
	return ""
}
