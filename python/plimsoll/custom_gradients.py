"""Exports torch.autograd.Function: an ONNX file holds its forward(), and has no place for its backward().

The trainer differentiates the forward() in the file. If backward() is the derivative of forward(), as in a GELU that
saves memory, this gives the author's gradient. If not, as in a straight-through estimator, it gives another gradient.
So each Function that a module uses is tested on the values of the example: its backward() is compared with PyTorch's
derivative of its forward().
"""

import contextlib

from . import state

TOLERANCE = 1e-3  # above rounding errors in single precision, below the error of an intentionally different backward()


class Functions:
    """The Functions that a traced forward() has used, and how deep the trace currently is inside them."""

    def __init__(self):
        self.met = set()
        self.depth = 0


@contextlib.contextmanager
def recorded(torch):
    """A context in which the forward() of every Function runs with gradients on, like other code, and is recorded.

    PyTorch turns gradients off around forward() because backward() computes the gradient. This does not mean that the
    module detaches anything.
    """
    functions = Functions()

    def replace(cls, forward):
        def traced(*args, **kwargs):
            functions.met.add(cls)
            functions.depth += 1
            try:
                with _differentiated(torch):
                    return forward(*args, **kwargs)
            finally:
                functions.depth -= 1

        return traced

    with _forwards_replaced(torch, replace), _checkpoints_run(torch):
        yield functions


def check(torch, model, arguments, functions):
    """Raises ValueError if the backward() of a recorded Function is not the derivative of its forward()."""
    if not functions.met:
        return
    wrong, within = {}, []

    def replace(cls, forward):
        def judged(*args, **kwargs):
            if not within and cls in functions.met:
                within.append(cls)
                try:
                    distance = _distance(torch, cls, forward)(args[0 if _has_setup(torch, cls) else 1 :])
                finally:
                    within.pop()
                if distance > TOLERANCE:
                    wrong[cls] = max(distance, wrong.get(cls, 0.0))
            return forward(*args, **kwargs)

        return judged

    with torch.enable_grad(), torch.random.fork_rng(), _forwards_replaced(torch, replace):
        state.copy_of(torch, model)(*arguments)
    for cls, distance in wrong.items():
        raise ValueError(
            f"{cls.__module__}.{cls.__qualname__} cannot be exported: its backward() is not the derivative of its "
            f"forward() ({100 * distance:.2g} % apart), and ONNX has no place for it. Write forward() so that its "
            "derivative is the intended gradient; a straight-through estimator of f is x + (f(x) - x).detach()"
        )


def _has_setup(torch, cls):
    """Whether a Function has setup_context(): then its forward() takes no context (PyTorch 2)."""
    base = getattr(torch.autograd.function, "_SingleLevelFunction", None)
    return base is not None and cls.setup_context is not base.setup_context


def _distance(torch, cls, forward):
    """Returns a function of forward()'s arguments: the gradients' distance, relative to the norm of backward()'s."""

    def is_real(a):
        return isinstance(a, torch.Tensor) and a.is_floating_point()

    def leaves(args):
        """backward() may give None for what needs no gradient, such as a factor that is not trained."""
        return tuple(a.detach().clone().requires_grad_(a.requires_grad) if is_real(a) else a for a in args)

    def gradients(call, args, mode):
        args = leaves(args)
        seed = torch.random.get_rng_state()
        with mode:
            results = call(*args)
        results = results if isinstance(results, (tuple, list)) else (results,)
        results = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
        torch.random.set_rng_state(seed)  # both calls draw the same random numbers
        directions = [torch.randn(r.shape, generator=torch.Generator().manual_seed(1)).to(r) for r in results]
        if results:
            torch.autograd.backward(results, directions)
        inputs = [a for a in args if is_real(a) and a.requires_grad]
        return torch.cat([(torch.zeros_like(a) if a.grad is None else a.grad).double().flatten() for a in inputs])

    def distance(args):
        if not any(is_real(a) and a.requires_grad for a in args):
            return 0.0
        with torch.enable_grad():
            own = gradients(cls.apply, args, contextlib.nullcontext())
            call = forward if _has_setup(torch, cls) else lambda *a: forward(_Context(a), *a)
            derived = gradients(call, args, _differentiated(torch))
        difference, norm = float((own - derived).norm()), float(own.norm())
        return difference / norm if norm > 0 else float(difference > 0)

    return distance


class _Context:
    """Accepts everything that forward() does with its context; no backward() reads it."""

    def __init__(self, args):
        self.needs_input_grad = tuple(getattr(a, "requires_grad", False) for a in args)

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    save_for_forward = mark_dirty = mark_non_differentiable = lambda self, *tensors: None

    def set_materialize_grads(self, value):
        pass


def _differentiated(torch):
    """A mode in which neither no_grad() nor detach() has an effect."""
    from torch.overrides import TorchFunctionMode

    class Differentiated(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function == torch.Tensor.detach:
                return args[0].view_as(args[0])
            if getattr(function, "__name__", "") == "_set_grad_enabled":
                return function(*args, **(kwargs or {}))
            with torch.enable_grad():
                return function(*args, **(kwargs or {}))

    return Differentiated()


@contextlib.contextmanager
def _forwards_replaced(torch, replace):
    """A context in which the forward() of each class is replace(class, forward).

    `apply` is not replaced: modules store it in variables of their own. PyTorch looks up forward() at each call.
    """
    own = []
    for cls in _subclasses(torch.autograd.Function):
        forward = cls.__dict__.get("forward")
        if isinstance(forward, staticmethod):
            own.append((cls, forward))
            cls.forward = staticmethod(replace(cls, forward.__func__))
    try:
        yield
    finally:
        for cls, forward in own:
            cls.forward = forward


@contextlib.contextmanager
def _checkpoints_run(torch):
    """A context in which a reentrant checkpoint only calls its function: the compiler decides what is recomputed."""
    from torch.utils.checkpoint import CheckpointFunction as checkpoint

    checkpoint.apply = staticmethod(lambda function, preserve_rng_state, *args: function(*args))
    try:
        yield
    finally:
        del checkpoint.apply


def _subclasses(cls):
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)
