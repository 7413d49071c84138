"""Calls that no exporter can write, or that a trainer could not train as PyTorch does."""

import inspect


class Refused(ValueError):
    """A call that is not exported, with what to use instead. It knows the module whose forward() makes the call."""

    def __init__(self, message):
        super().__init__(message)
        self.module = _calling_module()


def said(model, error):
    """What to tell the user: the path of the module in `model`, and the message."""
    module = getattr(error, "module", None)
    path = next((name for name, other in model.named_modules() if name and other is module), None)
    return str(error) if path is None else f"module '{path}' ({type(module).__name__}): {error}"


def _calling_module():
    import torch

    frame = inspect.currentframe()
    while frame is not None:
        module = frame.f_locals.get("self")
        if frame.f_code.co_name == "forward" and isinstance(module, torch.nn.Module):
            return module
        frame = frame.f_back
    return None
