"""Calls that no exporter can write, or that a trainer could not train as PyTorch does."""

import inspect


class Refused(ValueError):
    """A call that is not exported, with what to use instead. It knows the module whose forward() makes the call."""

    def __init__(self, message, module=None):
        super().__init__(message)
        self.module = module or _calling_module()


def said(model, error):
    """What to tell the user: the path of the module in `model`, and the message."""
    module = getattr(error, "module", None)
    path = next((name for name, other in model.named_modules() if name and other is module), None)
    return str(error) if path is None else f"module '{path}' ({type(module).__name__}): {error}"


def check_statistics(torch, model):
    """A batch normalization without a momentum counts the steps, and divides by the count. A trainer does not. No file
    holds the running statistics of an instance normalization."""
    for module in model.modules():
        if isinstance(module, torch.nn.modules.instancenorm._InstanceNorm) and module.training \
                and module.running_mean is not None:
            raise Refused("an instance normalization with track_running_stats=True cannot be exported for training: "
                          "PyTorch evaluates it by running statistics, and ONNX has no operator that does. With "
                          "track_running_stats=False it trains the same, and each sample is evaluated by its own "
                          "statistics", module)
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.training \
                and module.momentum is None and module.running_mean is not None:
            raise Refused("a batch normalization with momentum=None cannot be exported for training: its running "
                          "statistics are an average over all steps, and a trainer does not count them. Set momentum "
                          "to a number, for example 0.1", module)


def _calling_module():
    import torch

    frame = inspect.currentframe()
    while frame is not None:
        module = frame.f_locals.get("self")
        if frame.f_code.co_name == "forward" and isinstance(module, torch.nn.Module):
            return module
        frame = frame.f_back
    return None
