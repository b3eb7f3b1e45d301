#!/usr/bin/python3
"""rows.py save FILE | restore FILE, with NB=socket: keeps the rows of a Northbound, and puts back what has been deleted, changed or added since.

Deleted rows return under their UUID. Columns that ovn-northd and the controllers write are left alone."""
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

tables = {t: set(d["columns"]) - DAEMONS.get(t, set()) for t, d in call("get_schema", DB)["tables"].items()}

def read():
    replies = call("transact", DB, *[{"op": "select", "table": t, "where": [], "columns": ["_uuid", *sorted(c)]} for t, c in tables.items()])
    return {t: {r.pop("_uuid")[1]: r for r in reply["rows"]} for t, reply in zip(tables, replies)}

def restore(old):
    now, ops = read(), []
    for t in tables:
        where = lambda id: [["_uuid", "==", ["uuid", id]]]
        for id, row in old[t].items():
            if id not in now[t]:
                ops.append({"op": "insert", "table": t, "uuid": id, "row": row})
            elif changed := {c: v for c, v in row.items() if now[t][id].get(c) != v}:
                ops.append({"op": "update", "table": t, "where": where(id), "row": changed})
        ops += [{"op": "delete", "table": t, "where": where(id)} for id in now[t] if id not in old[t]]
    if failed := [r for r in call("transact", DB, *ops) if r and "error" in r]:
        sys.exit(f"not put back: {failed}")

if sys.argv[1] == "save":
    json.dump(read(), open(sys.argv[2], "w"))
else:
    restore(json.load(open(sys.argv[2])))
