"""Finds buffers that forward() changes and reads again in the next step, as spectral normalization does.

An ONNX file computes outputs of inputs. A trainer keeps all buffers except the running statistics of normalizations, so
a module with such a state would be trained with that of its first step.
"""

import collections
import contextlib
import copy


def copy_of(torch, model):
    """A deep copy, also of a module that keeps computed tensors as attributes: the weight of
    torch.nn.utils.weight_norm, or a list of outputs for deep supervision. PyTorch refuses to copy such a tensor."""
    values = [value for container in _containers_of(model) for value in _items(container)]
    computed = [value for value in values if isinstance(value, torch.Tensor) and not value.is_leaf]
    return copy.deepcopy(model, {id(value): value.detach().clone() for value in computed})


@contextlib.contextmanager
def kept(torch, model):
    """Exporters change the modes of modules, and run forward() on the example or on tensors without data. forward() may
    keep these as attributes or buffers, or write into buffers, as normalizations do. This context restores all of them.

    Its value is what the buffers contain, by name.
    """
    modes = {module: module.training for module in model.modules()}
    containers = [(container, copy.copy(container)) for container in _containers_of(model) if type(container) != tuple]
    buffers = {
        name: (buffer, buffer.detach().clone())
        for name, buffer in model.named_buffers()
        if buffer.layout == torch.strided
    }
    try:
        yield {name: values for name, (_, values) in buffers.items()}
    finally:
        for container, items in containers:
            if isinstance(container, list):
                container[:] = items
            else:
                container.clear()
                container.update(items)
        with torch.no_grad():
            for buffer, values in buffers.values():
                if not torch.equal(buffer, values):
                    buffer.copy_(values)
        for module, training in modes.items():
            if module.training != training:  # a ScriptModule's is not in its __dict__
                module.training = training


def _containers_of(model):
    """The attributes of all modules, and the lists, dicts and tuples in them, each once."""
    found, left = {}, [vars(module) for module in model.modules()]
    while left:
        container = left.pop()
        if id(container) not in found:
            found[id(container)] = container
            left += [item for item in _items(container) if type(item) in (list, tuple, dict, collections.OrderedDict)]
    return list(found.values())


def _items(container):
    return list(container.values() if isinstance(container, dict) else container)


def check(torch, model, arguments):
    """Raises ValueError if the outputs depend on what an earlier forward() has left in buffers."""
    model = copy_of(torch, model)
    buffers = _buffers(torch, model)
    before = {name: buffer.clone() for name, buffer in buffers.items()}
    first = _outputs(torch, model, arguments)
    changed = [name for name, buffer in _buffers(torch, model).items() if not _same(torch, buffer, before.get(name))]
    if not changed:
        return
    second = _outputs(torch, model, arguments)
    for name, buffer in _buffers(torch, model).items():
        if name in before:
            buffer.copy_(before[name])
    again = _outputs(torch, model, arguments)
    # Outputs that differ from the same state are random in ways that a seed does not determine.
    if _all_same(torch, first, second) or not _all_same(torch, first, again):
        return
    names = ", ".join(changed[:4]) + (", …" if len(changed) > 4 else "")
    raise ValueError(
        f"forward() changes buffers that the next step reads: {names}. A trainer keeps buffers as they are in the file "
        "and would train something else. allow_state=True permits it"
    )


def _buffers(torch, model):
    """Without the running statistics of normalizations, which trainers update."""
    norms = (torch.nn.modules.batchnorm._NormBase,)
    return {
        f"{path}.{name}" if path else name: buffer
        for path, module in model.named_modules()
        if not isinstance(module, norms)
        for name, buffer in module.named_buffers(recurse=False)
        if buffer.is_floating_point()
    }


def _outputs(torch, model, arguments):
    try:
        with torch.no_grad():  # which keeps no activations
            outputs = _run(torch, model, arguments)
    except RuntimeError:  # forward() may itself differentiate, by torch.autograd.grad
        with torch.enable_grad():
            outputs = _run(torch, model, arguments)
    tensors = torch.utils._pytree.tree_flatten(outputs)[0]
    return [tensor.detach().clone() for tensor in tensors if isinstance(tensor, torch.Tensor)]


def _run(torch, model, arguments):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return model(*arguments)


def _same(torch, a, b):
    return b is not None and a.shape == b.shape and torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))


def _all_same(torch, some, others):
    return len(some) == len(others) and all(_same(torch, a, b) for a, b in zip(some, others))
