// Package terminal prepares text for a person's screen: it makes foreign text
// harmless, measures it in columns and colours our own words.
//
// Whatever a model, a tool or a file wrote passes through [Line], [Text] or
// [Output] before it is printed. After that no byte of it can move the cursor,
// change the title, reach the clipboard or turn the reading direction around.
package terminal
