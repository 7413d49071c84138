"""Loads a trace into Perfetto's trace_processor and checks it. usage: perfetto.py TRACE_PROCESSOR_SHELL trace.json"""
import collections
import csv
import json
import subprocess
import sys

processor, trace = sys.argv[1:]
events = json.load(open(trace))["traceEvents"]
written = collections.Counter(event["ph"] for event in events)
ON_THREADS = "from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)"
OF_TENSORS = "from slice join process_track on slice.track_id = process_track.id"


def rows(query):
    open("query.sql", "w").write(query + ";\n")
    done = subprocess.run([processor, "-q", "query.sql", trace], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{processor} refuses {trace}: {done.stderr}")
    return list(csv.reader(line for line in done.stdout.splitlines() if line))[1:]


def number(query):
    return int(rows(query)[0][0])


problems = [f"{name} is {value}" for name, value in
            rows("select name, value from stats where severity in ('error', 'data_loss') and value > 0")]
wanted = collections.Counter(event["tid"] for event in events if event["ph"] == "X")
found = {int(tid): int(count) for tid, count in rows(f"select tid, count(*) {ON_THREADS} group by tid order by tid")}
checks = [
    ("slices of each stream", dict(wanted), found),
    ("slices that overlap another of their stream", 0, number(f"select count(*) {ON_THREADS} where depth > 0")),
    ("slices without an end", 0, number("select count(*) from slice where dur < 0")),
    ("tensors' times at an address", written["b"], number(f"select count(*) {OF_TENSORS}")),
    ("tensors' times that lie on one another", 0, number(f"select count(*) {OF_TENSORS} where depth > 0")),
    ("flows", written["f"], number("select count(*) from flow")),
    ("values of the counter", written["C"], number("select count(*) from counter")),
]
problems += [f"{what}: {should}, and Perfetto has {has}" for what, should, has in checks if should != has]
if problems:
    sys.exit(f"{trace}: " + "; ".join(problems))
print(f"{trace}: " + ", ".join(f"{what} {has}" for what, _, has in checks))
