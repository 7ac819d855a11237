// Package dialog asks a person on the whole screen about the tool calls of one answer
// of a model, one call after the other. It draws on the alternate screen, so what was
// on the terminal before is there again afterwards. Source: permission text, "The prompt".
//
// What is shown comes as lines of package show, in which nothing foreign is left
// unescaped. What does not fit is scrolled to, and counted where it is out of view; the
// level and the keys stay in view.
package dialog
