// Package render writes values for people and for programs: documents as JSON and
// YAML, text as trees, tables and Markdown, drawings as DOT and Mermaid.
//
// It sees values only, never a connection. What it is given may be hostile, since
// names in databases are anybody's: text is made of a [Line], whose parts are
// cleaned where they are written, at one place, and painted after the layout.
// What a stream can show is a [Style], which the command decides.
package render
