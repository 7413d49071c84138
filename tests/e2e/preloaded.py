"""A Python that has imported large modules before scripts run. Importing PyTorch takes a second of processor time, and
a test with a dozen scripts would spend most of its time on that. Each script runs in a process of its own, forked from
the one that has imported the modules.

    preloaded.py serve SOCKET MODULE…    imports those of the modules that exist, serves requests until its input ends
    preloaded.py run SOCKET ARGUMENT…    as `python3 ARGUMENT…`: FILE, - or -c TEXT, with arguments for the script
"""
import atexit
import gc
import importlib.util
import json
import os
import select
import socket
import sys
import traceback


def run(path, arguments):
    """Has the server run a script with the files, the environment and the folder of this process."""
    there = os.getcwd()
    os.chdir(os.path.dirname(path))  # the path of a socket has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(os.path.basename(path))
        request = json.dumps({"arguments": arguments, "folder": there, "environment": dict(os.environ)}).encode()
        socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
        server.sendall(request)
        answer = server.recv(1)
    sys.exit(answer[0] if answer else "preloaded.py: the server has ended")


def script_of(arguments):
    """The text and the file name of a script, the folder it imports from, and its sys.argv."""
    if arguments[0] == "-c":
        return arguments[1], "<string>", "", ["-c", *arguments[2:]]
    if arguments[0] == "-":
        return sys.stdin.read(), "<stdin>", "", arguments
    with open(arguments[0], encoding="utf-8") as file:
        return file.read(), arguments[0], os.path.dirname(os.path.abspath(arguments[0])), arguments


def play(request, files):
    """In the forked process: becomes what `python3 ARGUMENT…` would be."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    text, name, folder, sys.argv = script_of(request["arguments"])
    more = [entry for entry in os.environ.get("PYTHONPATH", "").split(":") if entry and entry not in sys.path]
    sys.path[:1] = [folder, *more]
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    main = type(sys)("__main__")
    main.__file__ = name
    sys.modules["__main__"] = main
    exec(compile(text, name, "exec"), main.__dict__)  # pylint: disable=exec-used


def end_after(body):
    """Runs the body and ends the process as Python would, but does not take the modules down: that takes longest."""
    code = 0
    try:
        body()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if code and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()  # pylint: disable=protected-access
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 0xFF)  # pylint: disable=protected-access


def request_of(client):
    size, files, _, _ = socket.recv_fds(client, 8, 3)
    parts, missing = [], int.from_bytes(size, "big")
    while missing > 0:
        parts.append(client.recv(missing))
        missing -= len(parts[-1])
    return json.loads(b"".join(parts)), files


def serve(path, modules):
    """Exits only in the forked processes and when the input ends, which the test holds open."""
    os.chdir(os.path.dirname(path))
    server = socket.socket(socket.AF_UNIX)
    server.bind("new.socket")
    server.listen()
    os.rename("new.socket", os.path.basename(path))  # a client that finds it can connect
    for module in modules:
        if importlib.util.find_spec(module):
            __import__(module)
    gc.collect()
    gc.freeze()  # a collection would write to the pages that the processes share
    while True:
        if sys.stdin.fileno() in select.select([server, sys.stdin.fileno()], [], [])[0]:
            return
        client, _ = server.accept()
        request, files = request_of(client)
        process = os.fork()
        if process == 0:
            server.close()
            client.close()
            end_after(lambda: play(request, files))
        for file in files:
            os.close(file)
        status = os.waitpid(process, 0)[1]
        code = os.waitstatus_to_exitcode(status)
        client.sendall(bytes([code if code >= 0 else 128 - code]))
        client.close()


if __name__ == "__main__":
    {"serve": serve, "run": run}[sys.argv[1]](sys.argv[2], sys.argv[3:])
