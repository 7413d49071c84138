"""Plimsoll for users of PyTorch and Keras.

    plimsoll.export(model, (x,), "net.onnx")       write a model with everything that the compiler needs to know
    plimsoll.export(keras_model, "net.onnx")       the same for a keras.Model
    plimsoll.load(model, "trained.onnx")           copy what a trainer has saved into the module or the Keras model
    plimsoll.check(model, x, y, "trainer")         run one step in PyTorch and in the trainer, and compare all tensors

The compiler itself is the command `plimsoll`. Importing this package does not import PyTorch or Keras.
"""

from .checking import Comparison, check
from .exporting import METADATA_KEY, export
from .loading import load

__all__ = ["Comparison", "METADATA_KEY", "check", "export", "load"]
