"""Model files in 16 bits.

narrow_file.py to TYPE in.onnx narrow.onnx wide.onnx: the f32 model in.onnx with its reals in TYPE (f16 or bf16), and
    the f32 model whose weights are exactly those of narrow.onnx.
narrow_file.py same narrow.onnx wide.onnx: exit 0 if each real of narrow.onnx is that of wide.onnx, rounded.
"""
import sys

import numpy as np
import onnx
from onnx import numpy_helper

TYPES = {"f16": onnx.TensorProto.FLOAT16, "bf16": onnx.TensorProto.BFLOAT16}
FLOAT = onnx.TensorProto.FLOAT


def narrow(kind, values):
    """The elements as uint16, rounded to nearest, ties to even."""
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16)
    bits = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def wide(kind, bits):
    return bits.view(np.float16).astype(np.float32) if kind == "f16" else (bits.astype(np.uint32) << 16).view(
        np.float32)


def convert(kind, source, narrow_path, wide_path):
    model = onnx.load(source)
    rounded = onnx.load(source)
    for tensor, other in zip(model.graph.initializer, rounded.graph.initializer):
        if tensor.data_type != FLOAT:
            continue
        bits = narrow(kind, numpy_helper.to_array(tensor))
        other.raw_data = wide(kind, bits).tobytes()
        tensor.raw_data, tensor.data_type = bits.tobytes(), TYPES[kind]
    for value in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
        if value.type.tensor_type.elem_type == FLOAT:
            value.type.tensor_type.elem_type = TYPES[kind]
    onnx.save(model, narrow_path)
    onnx.save(rounded, wide_path)


def compare(narrow_path, wide_path):
    kinds = {number: kind for kind, number in TYPES.items()}
    compared = 0
    model, other = onnx.load(narrow_path), onnx.load(wide_path)
    for tensor, rounded in zip(model.graph.initializer, other.graph.initializer):
        assert tensor.name == rounded.name, (tensor.name, rounded.name)
        if rounded.data_type != FLOAT:
            continue
        kind = kinds[tensor.data_type]
        expected = narrow(kind, np.frombuffer(rounded.raw_data, np.float32))
        assert tensor.raw_data == expected.tobytes(), tensor.name
        compared += 1
    assert compared >= 4, compared
    print(f"{narrow_path}: {compared} tensors are those of {wide_path}, rounded")


{"to": convert, "same": compare}[sys.argv[1]](*sys.argv[2:])
