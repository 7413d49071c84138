"""PyTorch's twins of the networks: what they compute, and how fast, in either memory format."""
import importlib
import statistics
import time

import numpy as np
import torch

from session import LR


def set_math(name):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = name == "tf32"


def torch_steps(check, name, batch, size, math_name, steps=3, channels_last=False):
    """Losses and final state of `steps` iterations of SGD with momentum."""
    set_math(math_name)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    files = check.data(batch, size, steps)
    x, y = torch.from_numpy(np.load(files[0], mmap_mode="r")[:batch * steps].copy()), torch.from_numpy(np.load(files[1])).long()
    model = check.twin(name).to(check.device())
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9)
    losses = []
    for step in range(steps):
        part = slice(step * batch, (step + 1) * batch)
        images, labels = x[part].to(check.device()), y[part].to(check.device())
        if channels_last:
            images = images.to(memory_format=torch.channels_last)
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    state = {k: v.detach().float().cpu().numpy() for k, v in model.state_dict().items() if not k.endswith("num_batches_tracked")}
    del model, optimizer, images, labels, loss
    if not check.dry:
        torch.cuda.empty_cache()  # the trainers say what is free
    return losses, state


def moved(state, start, keys):
    return np.concatenate([(state[k].astype(np.float64) - start[k]).ravel() for k in keys])


def distance(a, b):
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30))


def torch_throughput(check, name, batch, size, math_name, how, channels_last, steps=20):
    """Samples per second and the most memory of PyTorch's allocator."""
    if how in ("compile", "activation_memory_budget") and not hasattr(torch, "compile"):
        return {"skipped": f"PyTorch {torch.__version__} has no torch.compile"}
    set_math(math_name)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = False, not check.dry
    device = check.device()
    if check.dry:
        batch, steps = 2, 1
    model = check.twin(name).to(device)
    images = torch.randn(batch, 3, size, size, device=device)
    labels = torch.randint(0, 1000, (batch,), device=device)
    if channels_last:
        model, images = model.to(memory_format=torch.channels_last), images.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9)
    forward = model
    if how in ("compile", "activation_memory_budget"):
        torch._dynamo.reset()  # of the network before
        importlib.import_module("torch._functorch.config").activation_memory_budget = 0.5 if how == "activation_memory_budget" else 1.0
        forward = torch.compile(model, backend="eager" if check.dry else "inductor")
    if how == "checkpoint":
        forward = checkpointed(model)

    def step():
        optimizer.zero_grad(set_to_none=True)
        if how == "save_on_cpu":
            with torch.autograd.graph.save_on_cpu(pin_memory=not check.dry):
                loss = torch.nn.functional.cross_entropy(forward(images), labels)
        else:
            loss = torch.nn.functional.cross_entropy(forward(images), labels)
        loss.backward()
        optimizer.step()

    began = time.time()
    for _ in range(1 if check.dry else 8):
        step()
    if check.dry:
        return {"ran": True}
    warming = time.time() - began
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(steps):
        torch.cuda.synchronize()
        began = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    seconds = statistics.median(times)
    peak = torch.cuda.max_memory_allocated()
    del model, optimizer, images, forward
    torch.cuda.empty_cache()
    return {"seconds": seconds, "samples_per_second": batch / seconds, "peak_bytes": peak, "warm_up_seconds": warming}


def checkpointed(model):
    """Every child of the network, or of its list of layers, is run again in the backward: what users do by hand."""
    from torch.utils.checkpoint import checkpoint
    for parent in [model] + [m for m in model.children() if isinstance(m, torch.nn.Sequential)]:
        for child in parent.children():
            if any(True for _ in child.parameters()) and not isinstance(child, torch.nn.Linear):
                plain = child.forward
                child.forward = lambda *args, plain=plain: checkpoint(plain, *args, use_reentrant=False) if torch.is_grad_enabled() else plain(*args)
    return model
