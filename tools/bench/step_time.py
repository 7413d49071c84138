#!/usr/bin/env python3
"""Time and peak memory of a training step, ours and PyTorch's, measured in one run on the same cores.

For each network a trainer is compiled and built. Then the trainer and PyTorch (contiguous and channels_last) take turns
for --rounds rounds of --steps steps each, every turn in a separate process. A row gives the median step of each, the
peak resident memory of its process, and our ratios to PyTorch's best.

usage: step_time.py --plimsoll build/bin/plimsoll [--models resnet18,resnet50] [--batch 8] [--image 224] [--budget 100%]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

TORCH_STEP = r"""
import sys, time, torch, torchvision, resource, json
name, batch, image, steps, channels_last, threads = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
torch.manual_seed(0)
model = getattr(torchvision.models, name)().train()
x, y = torch.randn(batch, 3, image, image), torch.randint(0, 1000, (batch,))
if channels_last:
    model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
times = []
for step in range(steps + 2):
    started = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    if step >= 2:
        times.append(time.perf_counter() - started)
print(json.dumps({"times": times, "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"$ {' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def torch_step(args, name, channels_last):
    out = run([
        "/usr/bin/python3", "-c", TORCH_STEP, name, args.batch, args.image, args.steps,
        int(channels_last), args.threads
    ])
    return json.loads(out.stdout)


def our_step(args, directory):
    metrics = f"{directory}/metrics.jsonl"
    if os.path.exists(metrics):
        os.remove(metrics)
    # wait4 gives ru_maxrss of this child alone.
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execv(f"{directory}/build/train", ["train", "--data", "synthetic", "--steps", str(args.steps + 2), "--quiet",
                                              "--metrics", metrics])
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"{directory}/build/train failed with status {status}")
    rows = [json.loads(line) for line in open(metrics)]
    times = [row["seconds"] for row in rows if "iteration" in row][2:]
    return {"times": times, "rss": usage.ru_maxrss * 1024}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", required=True)
    parser.add_argument("--models", default="resnet18,resnet50")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--image", type=int, default=224)
    parser.add_argument("--budget", default="100%")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--work", default="build/bench")
    parser.add_argument("--compile-option", action="append", default=[])
    parser.add_argument("--cmake-option", action="append", default=[], help="e.g. -DPLIMSOLL_RUNTIME=build")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    print(
        f"batch {args.batch}, {args.image}x{args.image}, {args.threads} threads, budget {args.budget}; median step in "
        "ms, "
        f"peak resident memory in MiB")
    print(f"{'network':12} {'ours':>8} {'MiB':>6}   {'torch':>8} {'MiB':>6}   {'torch nhwc':>10} {'MiB':>6}   "
          f"{'speed':>6} {'memory':>6}", flush=True)
    costs = [] if any(option.startswith("--costs") for option in args.compile_option) else ["--costs", "modelled"]
    for name in args.models.split(","):
        directory = f"{args.work}/{name}"
        run([args.plimsoll, "model", f"{name}:input={args.image}", "-o", f"{args.work}/{name}.onnx"])
        run([args.plimsoll, "compile", f"{args.work}/{name}.onnx", "--batch", args.batch,
             "--assume", "trainable", "--budget", args.budget,
             "--threads", args.threads, "-o", directory, "-q", *costs, *args.compile_option])
        run(["cmake", "-S", directory, "-B", f"{directory}/build", *args.cmake_option])
        run(["cmake", "--build", f"{directory}/build", "-j", os.cpu_count()])
        results = {"ours": [], "torch": [], "nhwc": []}
        for _ in range(args.rounds):
            results["ours"].append(our_step(args, directory))
            results["torch"].append(torch_step(args, name, False))
            results["nhwc"].append(torch_step(args, name, True))
        time = {k: statistics.median(t for r in v for t in r["times"]) for k, v in results.items()}
        rss = {k: max(r["rss"] for r in v) / 2**20 for k, v in results.items()}
        best = min(("torch", "nhwc"), key=lambda k: time[k])
        print(
            f"{name:12} {time['ours'] * 1e3:8.1f} {rss['ours']:6.0f}   {time['torch'] * 1e3:8.1f} {rss['torch']:6.0f}  "
            " "
            f"{time['nhwc'] * 1e3:10.1f} {rss['nhwc']:6.0f}   {time[best] / time['ours']:5.2f}x "
            f"{rss['ours'] / min(rss['torch'], rss['nhwc']):5.2f}x", flush=True)


if __name__ == "__main__":
    main()
