package builtin

// NewWebFetch makes web_fetch with another way to look up names.
var NewWebFetch = newWebFetch
