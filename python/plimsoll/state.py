"""Finds buffers that forward() changes and reads again in the next step, as spectral normalization does.

An ONNX file computes outputs of inputs. A trainer keeps all buffers except the running statistics of normalizations, so
a module with such a state would be trained with that of its first step.
"""

import contextlib
import copy


def copy_of(torch, model):
    """A deep copy, also of a module that keeps computed tensors as attributes: the weight of
    torch.nn.utils.weight_norm, or a list of outputs for deep supervision."""
    def has_history(value):  # such a tensor cannot be copied
        return isinstance(value, torch.Tensor) and not value.is_leaf

    attributes = [vars(module) for module in model.modules()]
    lists = [value for attribute in attributes for value in attribute.values() if type(value) is list]
    computed = [
        (holder, key, value)
        for holder, keys in [*((a, list(a)) for a in attributes), *((v, range(len(v))) for v in lists)]
        for key in keys
        if has_history(value := holder[key])
    ]
    try:
        for holder, key, value in computed:
            holder[key] = value.detach()
        return copy.deepcopy(model)
    finally:
        for holder, key, value in computed:
            holder[key] = value


@contextlib.contextmanager
def kept(model):
    """Exporters change the modes of modules, and run forward() on tensors without data, which it may keep as attributes
    or buffers. This context restores both."""
    before = {module: (dict(vars(module)), dict(module._buffers)) for module in model.modules()}
    lists = [(value, list(value)) for attributes, _ in before.values() for value in attributes.values()
             if type(value) is list]
    try:
        yield
    finally:
        for module, (attributes, buffers) in before.items():
            vars(module).clear()
            vars(module).update(attributes)
            module._buffers.clear()
            module._buffers.update(buffers)
        for value, items in lists:
            value[:] = items


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
