// Package clienttest is a client as others make it: generated from the OpenAPI
// document, without a word of ours in it.
package clienttest
