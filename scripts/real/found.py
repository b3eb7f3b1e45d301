#!/usr/bin/python3
"""found.py [CHECK OBJECT] <REPORT: exits with 0 if doctor's report (JSON) has the fault CHECK, with a title that OBJECT (a regular expression) matches,
and nothing beside it but its consequences; without arguments, if it has no fault. Prints the titles of the faults, and of what it did not expect."""
import json, re, sys

try:
    report = json.load(sys.stdin)
except ValueError:
    sys.exit("no report")
if "findings" not in report:
    sys.exit(report.get("error", "no report"))
faults = [f for f in report["findings"] if f["result"] in ("error", "warning")]
if len(sys.argv) == 1:
    expected = []
else:
    expected = [f for f in faults if f["check"] == sys.argv[1] and re.search(sys.argv[2], f["title"])]
other = [f for f in faults if f not in expected]
under = [c for f in expected for c in f["consequences"]]
for f in expected[:1]:
    rest = f" (and {len(expected) - 1} more)" if len(expected) > 1 else ""
    print(f["title"] + rest + (f"; explains {len(under)}" if under else ""))
for f in other:
    print(f"NOT EXPECTED: {f['check']}: {f['title']}")
sys.exit(other != [] or (len(sys.argv) > 1 and not expected))
