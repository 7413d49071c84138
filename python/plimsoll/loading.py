"""Copies what a trainer has saved (--save) back into the PyTorch module or the Keras model."""

import json
import sys

import numpy as np

from . import keras_exporting
from .exporting import METADATA_KEY, _parameters_of


def load(model, path):
    """Copies the weights and buffers of the ONNX file `path` into the module or the Keras model that the trainer's
    model was exported from. Returns the number of tensors.

    Raises ValueError, and changes nothing, if the file is not one of this module: a tensor that the file lists is not
    in the module or has another shape, or a trainable parameter is not in the file. Parameters that the export was
    permitted to leave out (allow_unused=True) are listed in the file and stay as they are.
    """
    if keras_exporting.is_keras(model):
        return keras_exporting.load(model, path)
    torch = sys.modules.get("torch")  # a module of it cannot exist before it is imported
    if torch is None or not isinstance(model, torch.nn.Module):
        raise TypeError(f"load() takes a torch.nn.Module or a keras.Model, not a {type(model).__name__}")
    return _load_module(torch, model, str(path))


def _load_module(torch, model, path):
    import onnx

    proto = onnx.load(path)
    saved = {initializer.name: initializer for initializer in proto.graph.initializer}
    for node in proto.graph.node:  # an export for evaluation merges equal parameters (exporting.py)
        if node.op_type == "Identity" and node.input[0] in saved:
            saved.setdefault(node.output[0], saved[node.input[0]])
    parameters = _parameters_of(model)
    tensors = {**parameters, **dict(model.named_buffers())}
    notes = _notes(proto)
    listed = [name for kind in ("trained", "frozen", "buffers") for name in notes.get(kind, ())]
    foreign = [name for name in listed if name in saved and name not in tensors]
    # A shared parameter is in the file once, under one of its names.
    there = {id(tensors[name]) for name in tensors if name in saved}
    expected = {name: p for name, p in parameters.items() if p.requires_grad and name not in notes.get("unused", ())}
    absent = [name for name, p in expected.items() if id(p) not in there]
    if foreign or absent or not there:
        what = "it has none of the module's tensors"
        if foreign or absent:
            what = f"the module has no tensor '{foreign[0]}'" if foreign else f"it has no initializer '{absent[0]}'"
        raise ValueError(f"'{path}' was not exported from this module: {what}. Load the file into the module that was "
                         "exported, which includes the loss if that was part of it")
    values = {name: _value(torch, saved[name]) for name in tensors if name in saved}
    for name, value in values.items():
        if value.shape != tensors[name].shape:
            shapes = f"{list(value.shape)} in '{path}', and {list(tensors[name].shape)} in the module"
            raise ValueError(f"'{name}' is {shapes}")
    with torch.no_grad():
        for name, value in values.items():
            tensors[name].copy_(value)
    return len(values)


def _notes(proto):
    """What plimsoll.export has recorded; nothing if the file is not from it."""
    return next((json.loads(entry.value) for entry in proto.metadata_props if entry.key == METADATA_KEY), {})


def _value(torch, initializer):
    from onnx import TensorProto, numpy_helper

    if initializer.data_type != TensorProto.BFLOAT16:
        return torch.from_numpy(np.array(numpy_helper.to_array(initializer)))
    # to_array() gives another type in each of several versions of onnx, and 1.17 gives other numbers.
    raw = initializer.HasField("raw_data")
    bits = np.frombuffer(initializer.raw_data, "<u2") if raw else np.array(initializer.int32_data)
    return torch.from_numpy((bits.astype(np.uint32) << 16).view(np.float32).reshape(list(initializer.dims)))
