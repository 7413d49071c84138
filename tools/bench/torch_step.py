"""Training steps of PyTorch for step_time.py, in a process of their own: prints the seconds of each step, and the
process's peak resident memory in bytes, as JSON.

usage: torch_step.py NETWORK fp32|bf16 MODE STEPS THREADS     MODE: eager, nhwc, compile or compile+nhwc
"""
import json
import resource
import sys
import time

# Otherwise transformers.py of this folder would hide the package.
sys.path.append(sys.path.pop(0))

import torch

import step_networks


def optimizer_of(network, model):
    if "adamw" in network.flags:
        return torch.optim.AdamW(model.parameters(), lr=network.learning_rate, weight_decay=0.01, fused=True)
    return torch.optim.SGD(model.parameters(), lr=network.learning_rate, momentum=0.9, fused=True)


def main():
    name, precision, mode, steps, threads = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    torch.set_num_threads(threads)
    network, model = step_networks.make(name)
    inputs, labels = list(network.inputs(network.batch).values()), network.labels(network.batch)
    if "nhwc" in mode:
        model = model.to(memory_format=torch.channels_last)
        inputs = [each.to(memory_format=torch.channels_last) for each in inputs]
    optimizer = optimizer_of(network, model)

    def loss_of(*values):
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            scores = model(*values)
        return torch.nn.functional.cross_entropy(scores.flatten(0, -2).float(), labels.flatten())

    forward = torch.compile(loss_of) if "compile" in mode else loss_of
    times = []
    for step in range(steps + 2):  # the first two warm up, and compile
        began = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        forward(*inputs).backward()
        optimizer.step()
        if step >= 2:
            times.append(time.perf_counter() - began)
    print(json.dumps({"times": times, "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


if __name__ == "__main__":
    main()
