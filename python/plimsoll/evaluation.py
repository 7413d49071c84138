"""Finds modules whose evaluation in PyTorch is not that of a trainer.

The file of a module in training mode holds the training branch of each `if self.training`. A trainer evaluates this
file with running statistics, without dropout, and with the mean of each random mask. All else is as in training,
including noise that only training adds. So each module with such a branch runs twice on the example:

    in training mode, but dropouts, masks and statistics as a trainer evaluates them ─┐
                                                                                      ├─► if they differ: a warning
    after eval() ─────────────────────────────────────────────────────────────────────┘
"""

import contextlib
import functools
import inspect
import warnings

from . import examples, state


def warn_of_differences(torch, model, arguments):
    """Warns of modules that compute something else after eval(). If forward() fails, there is no warning."""
    suspects = {path for path, module in model.named_modules() if module.training and _has_branch(module)}
    if not suspects or any(isinstance(module, torch.jit.ScriptModule) for module in model.modules()):
        return
    try:
        model = state.copy_of(torch, model)
        if not _differing(torch, model, arguments, {""}):  # the whole first, which is enough for most
            return
        differing = _differing(torch, model, arguments, suspects)
    except Exception:  # modules that cannot be copied, or that take other arguments in training
        return
    if found := [f"'{path}' ({kind})" if path else kind for path, kind in differing.items() if kind is not None]:
        more = f" and {len(found) - 4} more" if len(found) > 4 else ""
        warnings.warn(
            f"{', '.join(found[:4])}{more}: forward() computes something else after eval(). The file has the form for "
            "training, and a trainer evaluates and predicts with it, too. To evaluate as PyTorch does, copy the "
            "trained weights into the module: plimsoll.load()",
            stacklevel=3)


def _has_branch(module):
    kinds = [kind for kind in type(module).__mro__ if not kind.__module__.startswith("torch.nn.")]
    return any(_mentions_training(kind) for kind in kinds if kind is not object)


@functools.lru_cache(maxsize=None)
def _mentions_training(kind):
    try:
        return "training" in inspect.getsource(kind)
    except (OSError, TypeError):  # a class that was defined at a prompt
        return True


def _differing(torch, model, arguments, suspects):
    """The innermost of the suspects that compute something else after eval(): the class of each by its path, or None if
    that is not certain, because it draws masks or fails after eval()."""
    runs = _Runs(torch)
    with contextlib.ExitStack() as contexts:
        for path, module in list(model.named_modules()):
            if path in suspects:
                contexts.enter_context(examples.calling(module, runs.both(path, module)))
        for context in (torch.random.fork_rng(), torch.no_grad(), _as_evaluated(torch, runs.masks)):
            contexts.enter_context(context)
        model(*runs.copies(arguments))
    return runs.differing


class _Runs:
    """Runs modules both ways."""

    def __init__(self, torch):
        self.torch, self.masks = torch, _Masks()
        self.differing = {}
        self.is_evaluating = False

    def both(self, path, module):
        """What replaces forward() of this module."""
        forward = module.forward

        @functools.wraps(forward)
        def run(*args, **kwargs):
            if self.is_evaluating:
                return forward(*args, **kwargs)
            others = self.copies((args, kwargs))  # forward() may write into its arguments
            buffers = [(buffer, buffer.clone()) for buffer in module.buffers()]
            drawn_before = self.masks.drawn
            self.torch.manual_seed(0)
            result = forward(*args, **kwargs)
            drew_masks = self.masks.drawn > drawn_before
            for buffer, values in buffers:
                buffer.copy_(values)
            inner = any(other != path and other.startswith(path and f"{path}.") for other in self.differing)
            if inner:
                return result
            try:
                is_same, is_certain = self._is_same_after_eval(module, forward, others, result), not drew_masks
            except Exception:  # an inner module may return something else then
                is_same = is_certain = False
            if not is_same:
                self.differing[path] = type(module).__name__ if is_certain else None
            return result

        return run

    def _is_same_after_eval(self, module, forward, arguments, result):
        args, kwargs = arguments
        with self._evaluating(module):
            self.torch.manual_seed(0)
            evaluated = self._tensors(forward(*args, **kwargs))
        # One mode may have more outputs, such as those of auxiliary classifiers.
        fewer, more = sorted((evaluated, self._tensors(result)), key=len)
        return all(any(_are_close(self.torch, each, other) for other in more) for each in fewer)

    @contextlib.contextmanager
    def _evaluating(self, module):
        modes = {each: each.training for each in module.modules()}
        self.is_evaluating = True
        try:
            yield module.eval()
        finally:
            self.is_evaluating = False
            for each, training in modes.items():
                each.training = training

    def copies(self, values):
        copy = lambda value: value.clone() if isinstance(value, self.torch.Tensor) else value  # noqa: E731
        return self.torch.utils._pytree.tree_map(copy, values)

    def _tensors(self, values):
        return [v for v in self.torch.utils._pytree.tree_flatten(values)[0] if isinstance(v, self.torch.Tensor)]


def _are_close(torch, a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not a.is_floating_point() or a.numel() == 0:
        return torch.equal(a, b)
    largest = torch.nan_to_num(a.float(), 0, 0, 0).abs().max().item()
    return torch.allclose(a.float(), b.float(), rtol=1e-3, atol=1e-4 * largest, equal_nan=True)


def _is_one_number(value):
    """A trainer draws numbers for other probabilities, in evaluation, too."""
    return not hasattr(value, "numel") or value.numel() == 0 or bool((value == value.flatten()[0]).all())


class _Masks:
    """Counts the random masks that are drawn by torch.rand() < p or floor(torch.rand() + p). In a trainer's evaluation
    they are p, which they cannot be here: the first one is a tensor of bool."""

    KEEP_NUMBERS = {"add", "add_", "sub", "rsub", "mul", "mul_", "to", "view", "reshape", "expand", "unsqueeze"}
    KEEP_NUMBERS |= {"__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__"}
    MASKS = {"floor", "floor_", "lt", "le", "gt", "ge", "less", "less_equal", "greater", "greater_equal"}
    MASKS |= {"__lt__", "__le__", "__gt__", "__ge__"}

    def __init__(self):
        self.drawn = 0
        self._numbers = {}  # of torch.rand(), by id

    def see(self, function, args, result):
        name = getattr(function, "__name__", "")
        are_random = [id(each) in self._numbers for each in args]
        if name in ("rand", "rand_like", "uniform_") or any(are_random) and name in self.KEEP_NUMBERS:
            self._numbers[id(result)] = result
        others = [each for each, is_random in zip(args, are_random) if not is_random]
        self.drawn += any(are_random) and name in self.MASKS and all(_is_one_number(each) for each in others)


def _as_evaluated(torch, masks):
    """A context in which calls are as a trainer evaluates them."""
    from torch.overrides import TorchFunctionMode

    class AsEvaluated(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            result = _evaluated(torch, function, args, kwargs or {})
            masks.see(function, args, result)
            return result

    return AsEvaluated()


def _evaluated(torch, function, args, kwargs):
    if function in (torch.bernoulli, torch.Tensor.bernoulli) and not kwargs:
        if len(args) > 1:
            return torch.full_like(args[0], args[1])
        return args[0].clone() if _is_one_number(args[0]) else function(*args)
    if function == torch.Tensor.bernoulli_:
        (mean, *_) = (*args[1:], kwargs.get("p", 0.5))
        if not _is_one_number(mean):
            return function(*args, **kwargs)
        return args[0].copy_(mean) if isinstance(mean, torch.Tensor) else args[0].fill_(mean)
    if _keeps_no_statistics(torch, function, args, kwargs):
        return function(*args, **kwargs)
    kwargs = {name: _OFF.get(name, value) for name, value in kwargs.items()}
    name, place = _random_part(torch, function, args)
    if name is not None and place < len(args):
        args = (*args[:place], _OFF[name], *args[place + 1:])
    elif name == "training":
        kwargs["training"] = False  # which is True by default in some functions
    return function(*args, **kwargs)


_OFF = {"training": False, "train": False, "dropout_p": 0.0}  # the parameters that make a call random


def _random_part(torch, function, args):
    """Which of these parameters the function has, and its place among the arguments. None, 0: it has none of them."""
    if function in (torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu):
        return "train", 6 if isinstance(args[3], bool) else 7  # 7: of a packed sequence
    if function == getattr(torch.nn.functional, "scaled_dot_product_attention", None):
        return "dropout_p", 4
    name = getattr(function, "__name__", "")
    if getattr(function, "__module__", "") == "torch.nn.functional":
        names = _names_of_parameters(function)
        return ("training", names.index("training")) if "training" in names else (None, 0)
    if function == getattr(torch, name, None):
        if name.rstrip("_") in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"):
            return "train", 2
        if name in ("rrelu", "rrelu_", "batch_norm"):
            return "train", 5 if name == "batch_norm" else 3
    return None, 0


@functools.lru_cache(maxsize=None)
def _names_of_parameters(function):
    return list(inspect.signature(function).parameters)


def _keeps_no_statistics(torch, function, args, kwargs):
    """A batch normalization that normalizes by the batch, in evaluation, too."""
    place = {torch.nn.functional.batch_norm: 1, torch.batch_norm: 3}.get(function)
    return place is not None and (*args, *[None] * place)[place] is None and kwargs.get("running_mean") is None
