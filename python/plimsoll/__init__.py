"""Plimsoll for PyTorch users.

    plimsoll.export(model, (x,), "net.onnx")       write a model with all that the compiler has to know of it
    plimsoll.check(model, x, y, "trainer")         run one step in both, and compare every gradient

The compiler itself is the command `plimsoll`. Importing this package does not import PyTorch.
"""

from .checking import Comparison, check
from .exporting import METADATA_KEY, export

__all__ = ["Comparison", "METADATA_KEY", "check", "export"]
