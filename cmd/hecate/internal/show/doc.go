// Package show turns what the server tells about a run into text for a terminal:
// live while it happens ([Live]), as a history with one line per event ([Log]),
// and the calls of an approval exactly as they would run ([Bundle]).
//
// It writes plain text where there is no terminal, and nothing that a model or a
// tool wrote reaches the screen unfiltered.
package show
