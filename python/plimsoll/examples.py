"""The example with which a module is exported or checked, as the arguments of its forward()."""

import collections.abc
import contextlib
import inspect
import types


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
        arguments = tuple(value for value in example.values() if isinstance(value, torch.Tensor))
    with _taking(torch, model, example) if named else contextlib.nullcontext(), _without_cache(model):
        yield tuple(_each_once(torch, arguments))


def _each_once(torch, arguments):
    seen = set()
    for argument in arguments:
        yield argument.clone() if isinstance(argument, torch.Tensor) and id(argument) in seen else argument
        seen.add(id(argument))


@contextlib.contextmanager
def _taking(torch, model, example):
    names = [name for name, value in example.items() if isinstance(value, torch.Tensor)]
    constants = {name: value for name, value in example.items() if not isinstance(value, torch.Tensor)}
    of_instance = vars(model).get("forward")
    original = of_instance or type(model).forward

    def forward(self, *tensors):
        arguments = dict(zip(names, tensors), **constants)
        return original(**arguments) if of_instance else original(self, **arguments)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    forward.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in ("self", *names)])
    model.forward = types.MethodType(forward, model)  # a method, because a copy of the module must call its own
    try:
        yield
    finally:
        if of_instance:
            model.forward = of_instance
        else:
            del model.forward


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
