import json, subprocess, sys, urllib.request

sys.path.insert(0, "/work/wt-trade")
from tests.embedded_chain import embedded_chain
from tests import node_rpc
import contextlib, io
from zuno_tui.cli import main

home = "/tmp/trade-e2e-home"
import shutil

shutil.rmtree(home, ignore_errors=True)
with embedded_chain(seed=3, world="week", speed=0) as ready:

    def run(*w):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([*w, "--network", "devnet", "--rpc", ready.url, "--home", home, "--json"])
        t = out.getvalue()
        return code, (json.loads(t) if t else err.getvalue())

    for k in range(12):
        code, p = run("hedge", "28")
        h = p["hedge"]
        print(
            k,
            p["decision"],
            p["regime"]["regime"],
            p["reason"],
            "held",
            h["held"],
            "wanted",
            h["wanted"],
            [(o["side"], o["type"], o["quantity"]) for o in p["orders"]],
            flush=True,
        )
        if p["decision"] != "HOLD":
            c, a = run("approve")
            if c:
                print("approve", c, a)
            else:
                c, r = run("apply", p["planId"], "--confirm", a["hash"])
                print(
                    "  apply",
                    c,
                    [(o["state"], o["filled"], o["average"]) for o in r["orders"]] if c == 0 else r,
                )
        [node_rpc.ask(ready.url, "zuno_step", 1200) for _ in range(9)]
        c, s = run("trade", "status")
        print(
            "  status",
            round(s["equity"], 2),
            round(s["fees"], 2),
            round(s["funding"], 2),
            s["positions"],
            len(s["openOrders"]),
            flush=True,
        )
        c, m = run("trade", "memory")
        if m:
            print("  memory", m[0]["outcome"], m[0]["constraint"])
