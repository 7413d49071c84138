"""Plimsoll for PyTorch users.

    plimsoll.export(model, (x,), "net.onnx")       write a model with everything that the compiler needs to know
    plimsoll.check(model, x, y, "trainer")         run one step in PyTorch and in the trainer, and compare all tensors

The compiler itself is the command `plimsoll`. Importing this package does not import PyTorch.
"""

from .checking import Comparison, check
from .exporting import METADATA_KEY, export

__all__ = ["Comparison", "METADATA_KEY", "check", "export"]
