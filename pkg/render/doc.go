// Package render writes values for people and programs: documents as JSON and YAML, text as trees, tables and
// Markdown, graphs as DOT and Mermaid.
//
// It sees only values, never a connection. Its input may be hostile, since anybody can choose names in databases:
// text is built from a [Line], whose parts are cleaned where they are written, in one place, and styled after the
// layout. A [Style], chosen by the command, is what a stream can show.
package render
