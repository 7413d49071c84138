"""The example with which a module is exported or checked, as the arguments of its forward()."""

import collections.abc
import contextlib
import functools
import inspect

import numpy as np


@contextlib.contextmanager
def given(torch, model, example):
    """The positional arguments of model.forward() for `example`: a tensor, a tuple or list of arguments, or a mapping
    of arguments by name, as tokenizers of transformers return it. In this context forward() takes the tensors of a
    mapping, in its order, and no others. What else the mapping holds is constant.

    A tensor that is given twice, as token ids that are also the labels, is two inputs.
    """
    named = isinstance(example, collections.abc.Mapping)
    if not named:
        arguments = tuple(example) if isinstance(example, (tuple, list)) else (example,)
    else:
        _check_values(torch, example)
        arguments = tuple(value for value in example.values() if isinstance(value, torch.Tensor))
    with _taking(torch, model, example) if named else contextlib.nullcontext(), _without_cache(model):
        yield tuple(_each_once(torch, arguments))


def _check_values(torch, example):
    """Data that a file would keep as constants are an error: a trainer would see the example's in every step."""
    for name, value in example.items():
        if isinstance(value, torch.Tensor):
            continue
        if any(isinstance(leaf, (torch.Tensor, np.ndarray)) for leaf in torch.utils._pytree.tree_flatten(value)[0]):
            raise TypeError(
                f"'{name}' of the example is a {type(value).__name__}; its data would be constants of the file. A "
                "value of the dict that is data must be a tensor"
            )
    if not any(isinstance(value, torch.Tensor) for value in example.values()):
        raise TypeError("the dict of arguments holds no tensor; a tokenizer needs return_tensors='pt'")


def _each_once(torch, arguments):
    seen = set()
    for argument in arguments:
        yield argument.clone() if isinstance(argument, torch.Tensor) and id(argument) in seen else argument
        seen.add(id(argument))


def _taking(torch, model, example):
    names = [name for name, value in example.items() if isinstance(value, torch.Tensor)]
    constants = {name: value for name, value in example.items() if not isinstance(value, torch.Tensor)}
    # A partial of a bound method, because a deep copy of the module then calls the copy's own.
    forward = functools.partial(_call_by_name, model.forward, names, constants)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    forward.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    return calling(model, forward)


def _call_by_name(forward, names, constants, *tensors):
    return forward(**dict(zip(names, tensors)), **constants)


@contextlib.contextmanager
def calling(model, forward):
    """In this context model.forward() is `forward`."""
    before = vars(model).get("forward")
    model.forward = forward
    try:
        yield
    finally:
        if before is None:
            del model.forward
        else:
            model.forward = before


@contextlib.contextmanager
def _without_cache(model):
    """Models of transformers return the keys and values of all positions, for the next token to be generated
    (config.use_cache). No loss reads them, and exporters cannot write the class that holds them."""
    configs = {id(config): config for config in (getattr(module, "config", None) for module in model.modules())}
    caching = [config for config in configs.values() if getattr(config, "use_cache", None) is True]
    for config in caching:
        config.use_cache = False
    try:
        yield
    finally:
        for config in caching:
            config.use_cache = True
