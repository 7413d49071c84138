"""The same networks in PyTorch: their results, and their speed in either memory format."""
import contextlib
import gc
import importlib
import statistics
import time

import numpy as np
import torch
from torch.utils.checkpoint import checkpoint

import networks
from session import LR


def set_precision(name):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = name != "fp32"


MIXED = {"bf16": torch.bfloat16, "fp16": torch.float16}


def loss_of(forward, images, labels, precision):
    """bf16 and fp16: as users run them, under automatic mixed precision."""
    mixed = precision in MIXED
    with torch.autocast(images.device.type, MIXED[precision]) if mixed else contextlib.nullcontext():
        return torch.nn.functional.cross_entropy(forward(images), labels)


def stepped(loss, optimizer, scaler):
    """The backward pass and the update; in fp16 with the scaled loss."""
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def scaler_of(precision, device):
    """Without fp16 it does nothing. PyTorch before 2.3 has one for CUDA only."""
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler(device, enabled=precision == "fp16")
    return torch.cuda.amp.GradScaler(enabled=precision == "fp16")


def torch_steps(check, name, batch, size, precision, steps=3, channels_last=False):
    """Losses and final state of `steps` iterations of SGD with momentum."""
    set_precision(precision)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    files = check.data(batch, size, steps)
    x, y = torch.from_numpy(np.load(files[0])), torch.from_numpy(np.load(files[1])).long()
    model = check.twin(name).to(check.device())
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9)
    scaler = scaler_of(precision, check.device())
    losses = []
    for step in range(steps):
        part = slice(step * batch, (step + 1) * batch)
        images, labels = x[part].to(check.device()), y[part].to(check.device())
        if channels_last:
            images = images.to(memory_format=torch.channels_last)
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model, images, labels, precision)
        stepped(loss, optimizer, scaler)
        losses.append(loss.item())
    state = {
        k: v.detach().float().cpu().numpy() for k, v in model.state_dict().items()
        if not k.endswith("num_batches_tracked")
    }
    del model, optimizer, images, labels, loss
    if not check.dry:
        torch.cuda.empty_cache()  # because the trainers report the free memory
    return losses, state


def moved(state, start, keys):
    return np.concatenate([(state[k].astype(np.float64) - start[k]).ravel() for k in keys])


def distance(a, b):
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30))


def torch_throughput(check, name, batch, size, precision, how, channels_last, steps=20):
    """Samples per second, and the peak memory of PyTorch's allocator."""
    if how in ("compile", "activation_memory_budget") and not hasattr(torch, "compile"):
        return {"skipped": f"PyTorch {torch.__version__} has no torch.compile"}
    set_precision(precision)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = False, not check.dry
    device = check.device()
    if check.dry:
        batch, steps = 2, 1
    model = check.twin(name).to(device)
    for module in model.modules():
        if isinstance(module, networks.CausalBlock):
            module.fused = hasattr(torch.nn.functional, "scaled_dot_product_attention")
    staged, labels_staged = torch.randn(batch, 3, size, size), torch.randint(0, 1000, (batch,))
    if channels_last:
        model, staged = model.to(memory_format=torch.channels_last), staged.to(memory_format=torch.channels_last)
    if not check.dry:
        staged, labels_staged = staged.pin_memory(), labels_staged.pin_memory()
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9)
    scaler = scaler_of(precision, device)
    forward = model
    if how in ("compile", "activation_memory_budget"):
        torch._dynamo.reset()  # the previous network's compilations
        importlib.import_module(
            "torch._functorch.config").activation_memory_budget = 0.5 if how == "activation_memory_budget" else 1.0
        forward = torch.compile(model, backend="eager" if check.dry else "inductor")
    if how == "checkpoint":
        forward = checkpointed(model)

    # The batch is uploaded in every step, from pinned memory and in the model's format, as the trainer uploads its own.
    def step():
        images, labels = (one.to(device, non_blocking=True) for one in (staged, labels_staged))
        optimizer.zero_grad(set_to_none=True)
        if how == "save_on_cpu":
            with torch.autograd.graph.save_on_cpu(pin_memory=not check.dry):
                loss = loss_of(forward, images, labels, precision)
        else:
            loss = loss_of(forward, images, labels, precision)
        stepped(loss, optimizer, scaler)

    try:
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
        return {
            "seconds": seconds, "samples_per_second": batch / seconds, "peak_bytes": torch.cuda.max_memory_allocated(),
            "warm_up_seconds": warming
        }
    finally:  # memory that is left would count for the next measurement
        del model, optimizer, step, staged, labels_staged, forward
        if hasattr(torch, "_dynamo"):
            torch._dynamo.reset()
        gc.collect()
        if not check.dry:
            torch.cuda.empty_cache()


def again_in_backward(module):
    """Keeps only its input, and recomputes everything else in the backward pass."""
    plain = module.forward
    module.forward = lambda *args: checkpoint(plain, *args, use_reentrant=False) if torch.is_grad_enabled() else plain(
        *args)


def checkpointed(model):
    """Applies checkpoints as users do by hand. Blocks are recomputed in the backward pass, each by itself and none
    within another. A list of n plain layers is divided into about √n segments, which begin at layers with weights."""
    for child in model.children():
        if any(isinstance(part, torch.nn.Sequential) and has_blocks(part) for part in child.children()):
            checkpointed(child)
        elif isinstance(child, torch.nn.Sequential) and has_blocks(child):
            for block in child:
                if any(True for _ in block.children()):
                    again_in_backward(block)
        elif isinstance(child, torch.nn.Sequential) and any(isinstance(layer, torch.nn.Conv2d) for layer in child):
            in_stretches(child)
        elif any(True for _ in child.children()) and not isinstance(child, torch.nn.Sequential):
            again_in_backward(child)
    return model


def has_blocks(layers):
    """Whether one of the layers consists of layers."""
    return any(True for layer in layers if any(True for _ in layer.children()))


def in_stretches(layers):
    """Divides layers into segments. A segment must not begin with an in-place layer, which would change the saved
    input."""
    starts = [i for i, layer in enumerate(layers) if any(True for _ in layer.parameters())]
    count = max(1, round(len(layers) ** 0.5))
    firsts = sorted({0, *(starts[len(starts) * part // count] for part in range(count))})
    stretches = [torch.nn.Sequential(*layers[first:last]) for first, last in zip(firsts, [*firsts[1:], len(layers)])]
    for stretch in stretches:
        again_in_backward(stretch)

    def forward(x):
        for stretch in stretches:
            x = stretch(x)
        return x
    layers.forward = forward
