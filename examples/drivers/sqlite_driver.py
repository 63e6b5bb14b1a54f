"""Drives SQLite for Isolde: isolde run 'exec:python3 examples/drivers/sqlite_driver.py test.db'

Reads requests from standard input and answers each on standard output, one line of JSON each; the
protocol is in docs/drivers.md. Every kind of value has a table of its own, and a key is its row.
"""
import json, sqlite3, sys

TABLES = ["register", "list", "cell_set", "counter"]
CREATE = ["create table register (key text primary key, v integer)",
          "create table list (key text primary key, v text)",
          "create table cell_set (key text, v integer, primary key (key, v))",
          "create table counter (key text primary key, v integer)"]
UPSERT = "insert into {} values (?, ?) on conflict (key) do update set v = {}excluded.v"
WRITE = {"write": UPSERT.format("register", ""), "append": UPSERT.format("list", "v || ',' || "),
         "add": "insert or ignore into cell_set values (?, ?)", "inc": UPSERT.format("counter", "v + ")}
db = None

def one(query, key):
    return (db.execute(query, [key]).fetchone() or [None])[0]

def answer(request):
    global db
    verb, key = request["do"], request.get("key")
    if verb == "describe":
        levels = [{"name": "serializable", "promises": "strict-serializable", "because": "sqlite.org/isolation.html"}]
        return {"product": "SQLite " + sqlite3.sqlite_version, "isolations": levels}
    if verb == "open":
        timeout = request["patience_ms"] / 2000  # Isolde's patience must be longer than SQLite's.
        db = sqlite3.connect(sys.argv[1], timeout=timeout, isolation_level=None)
        db.execute("pragma journal_mode = wal")
    elif verb in ("prepare", "clean"):
        for table in TABLES:
            db.execute(f"drop table if exists {table}")
        for statement in CREATE if verb == "prepare" else []:
            db.execute(statement)
    elif verb in ("begin", "commit"):
        db.execute(verb)
    elif verb == "rollback":
        if db.in_transaction:  # SQLite rolls back by itself after some errors.
            db.execute("rollback")
    elif verb in WRITE:
        db.execute(WRITE[verb], [key, request["value"]])
    elif verb == "read":
        return one("select v from register where key = ?", key)
    elif verb == "rgroup":
        return [one("select v from register where key = ?", key) for key in request["keys"]]
    elif verb == "rcount":
        return one("select v from counter where key = ?", key)
    elif verb == "rlist":
        text = one("select v from list where key = ?", key)
        return [int(item) for item in text.split(",")] if text else []
    elif verb == "rset":
        return [row[0] for row in db.execute("select v from cell_set where key = ?", [key])]
    else:
        raise ValueError("no such request: " + verb)

for line in sys.stdin:
    try:
        reply = {"ok": answer(json.loads(line))}
    except sqlite3.OperationalError as error:  # SQLite refuses whole: nothing was committed.
        busy = "locked" in str(error)
        reply = {"error": str(error), "fate": "aborted" if busy else "hopeless"}
    except Exception as error:
        reply = {"error": repr(error), "fate": "hopeless"}
    print(json.dumps(reply), flush=True)
