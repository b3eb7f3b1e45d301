#!/usr/bin/python3
"""causes.py ask [--resets-arrive] PROGRAM ARGUMENT...: asks PROGRAM, an ovnctl, as a kit's matrix does, and shows the cause's values in place of its
words. With --resets-arrive the exit status is 0, too, where the pod itself resets the connection, as nothing listens there.

causes.py compare PACKETS LOG: compares the values in a matrix's log with those that a deployment's .packets file, row by row of the same table, says
of lost packets. The exit status is not 0 if one differs."""
import json, re, subprocess, sys


def ask(words):
    arrives = words[0] == "--resets-arrive"
    asked = subprocess.run([*words[arrives:], "-o", "json"], capture_output=True, text=True)
    try:
        trace = json.loads(asked.stdout)
        verdict = trace["verdict"]
    except (ValueError, KeyError):
        print(asked.stdout + asked.stderr)
        return asked.returncode
    values = {k: trace["names"].get(verdict[k], verdict[k]) for k in ("stage", "port", "datapath") if verdict[k]}
    values |= {k: verdict["object"][k] for k in ("owner", "name") if verdict["object"]}
    print(verdict["outcome"], verdict["sentence"])
    if verdict["outcome"] != "delivered":
        print("  cause:", json.dumps(values))
    return 0 if arrives and (verdict["outcome"], verdict["stage"]) == ("rejected", "pod") else asked.returncode


def packets(file):
    """The service, the fate and the expected values of each row, of which each may have several."""
    for line in open(file):
        row, _, remark = line.lstrip("? ").partition(";")
        if line.startswith("#") or not row.strip():
            continue
        service = re.search(r"--(icmp|\w+=\d+)", row)[1].replace("=", "/")
        cause = remark.partition("| ")[2].strip()
        yield service, row.split()[0], {k: values.split(" or ") for k, values in (v.split("=", 1) for v in cause.split(", "))} if cause else None


def compare(file, log):
    expected, rows = list(packets(file)), re.split(r"^(?=(?:ok|BAD|!!|--) )", open(log).read(), flags=re.M)[1:]
    if len(rows) != len(expected):
        return f"{len(rows)} rows, but {len(expected)} in {file}"
    lost, wrong = 0, []
    for row, (service, fate, want) in zip(rows, expected):
        said = re.search(r"cause: ({.*})", row)
        if service not in row:
            return f"not {service}: {row.splitlines()[0]}"
        if not said or fate == "closed":
            continue
        lost += 1
        got = json.loads(said[1])
        if not want or any(got.get(k, "") not in values for k, values in want.items()):
            wrong.append(f"{row.split('|')[0].strip()}: {got}, not {want}")
    print(f"{lost - len(wrong)} of {lost} causes named")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong or not lost else 0


if __name__ == "__main__":
    command, *words = sys.argv[1:]
    sys.exit(ask(words) if command == "ask" else compare(*words))
