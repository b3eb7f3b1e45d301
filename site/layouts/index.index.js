const pages = [
{{- range $i, $page := site.RegularPages }}{{ if $i }},{{ end }}
{{ dict "at" (strings.TrimPrefix "/" $page.RelPermalink) "title" (partial "title.html" $page | htmlUnescape) "text" ($page.Plain | htmlUnescape | truncate 20000 "") | jsonify }}
{{- end }}
];
