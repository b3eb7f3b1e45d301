#!/usr/bin/python3
"""rows.py save FILE | restore FILE CHANGED, with NB=socket: keeps the rows of a Northbound, and takes back what was deleted, changed or added
between the two files.

Deleted rows return under their UUID. What the deployment itself has written since stays, and so do columns that ovn-northd and the controllers
write."""
import json, os, socket, sys

DAEMONS = {"NB_Global": {"nb_cfg", "nb_cfg_timestamp", "sb_cfg", "sb_cfg_timestamp", "hv_cfg", "hv_cfg_timestamp"},
           "Logical_Switch_Port": {"up", "dynamic_addresses"}, "Connection": {"is_connected", "status"}, "BFD": {"status"}, "Logical_Router_Port": {"status"}}
DB = "OVN_Northbound"

def call(method, *params):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(os.environ["NB"])
        s.sendall(json.dumps({"id": 0, "method": method, "params": params}).encode())
        text, reader = "", json.JSONDecoder()
        while True:
            got = s.recv(1 << 20)
            if not got:
                sys.exit("the Northbound closed the connection")
            text += got.decode()
            try:
                reply, _ = reader.raw_decode(text)
            except ValueError:
                continue
            if reply.get("id") == 0:
                return reply["result"]

schema = call("get_schema", DB)["tables"]
tables = {t: set(d["columns"]) - DAEMONS.get(t, set()) for t, d in schema.items()}

def elements(table, column, value):
    """The elements of a set without a limit; None for other columns."""
    kind = schema[table]["columns"][column]["type"]
    if not isinstance(kind, dict) or kind.get("max") != "unlimited" or "value" in kind:
        return None
    return value[1] if isinstance(value, list) and value[0] == "set" else [value]

def read():
    replies = call("transact", DB, *[{"op": "select", "table": t, "where": [], "columns": ["_uuid", *sorted(c)]} for t, c in tables.items()])
    return {t: {r.pop("_uuid")[1]: r for r in reply["rows"]} for t, reply in zip(tables, replies)}

def restore(old, made):
    now, ops = read(), []
    for t in tables:
        where = lambda id: [["_uuid", "==", ["uuid", id]]]
        for id, row in old[t].items():
            if id not in made[t]:
                if id not in now[t]:
                    ops.append({"op": "insert", "table": t, "uuid": id, "row": row})
                continue
            changed, mutations = {}, []
            for c, v in row.items():
                had, has = elements(t, c, v), elements(t, c, made[t][id][c])
                if v == made[t][id][c] or id not in now[t]:
                    continue
                if had is None:
                    changed[c] = v
                    continue
                mutations += [[c, "delete", ["set", [e for e in has if e not in had]]], [c, "insert", ["set", [e for e in had if e not in has]]]]
            if changed:
                ops.append({"op": "update", "table": t, "where": where(id), "row": changed})
            if mutations:
                ops.append({"op": "mutate", "table": t, "where": where(id), "mutations": mutations})
        ops += [{"op": "delete", "table": t, "where": where(id)} for id in made[t] if id not in old[t] and id in now[t]]
    if failed := [r for r in call("transact", DB, *ops) if r and "error" in r]:
        sys.exit(f"not put back: {failed}")

if sys.argv[1] == "save":
    json.dump(read(), open(sys.argv[2], "w"))
else:
    restore(*(json.load(open(f)) for f in sys.argv[2:4]))
