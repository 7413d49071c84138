"""Writes the onnx package's node tests to a directory: write_cases.py DIR

The files are NAME.onnx with NAME.in0.pb, NAME.in1.pb, … and NAME.out0.pb, …, which are TensorProtos. A test with
several inputs is written twice: NAME, and NAME@constants, in which all inputs except the first are initializers. Tests
of sequences, optionals and types that NumPy does not have are written without values and only compiled.
"""

import os
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper


# Before onnx 1.18, the expected values of this test divide by elements beyond the padding, which its last window has.
WRONG_BEFORE_1_18 = "test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True"


def cases():
    warnings.simplefilter("ignore")
    # Older onnx packages use names that NumPy has dropped.
    for name, kind in (("float", float), ("int", int), ("bool", bool), ("object", object)):
        if not hasattr(np, name):
            setattr(np, name, kind)
    from onnx.backend.test.case import node

    wrong = set()
    if tuple(map(int, onnx.__version__.split(".")[:2])) < (1, 18):
        wrong.add(WRONG_BEFORE_1_18)
    return [case for case in node.collect_testcases(None) if case.name not in wrong]


def tensors(values, infos):
    """TensorProtos, or None if NumPy cannot represent one of the values as a tensor."""
    made = []
    for value, info in zip(values, infos):
        if isinstance(value, onnx.TensorProto):
            made.append(value)
        elif isinstance(value, (np.ndarray, np.generic)):
            try:
                tensor = numpy_helper.from_array(np.asarray(value), info.name)
                # The onnx package before 1.14 holds a bfloat16 as a uint16 with its bits.
                bfloat16 = onnx.TensorProto.BFLOAT16
                if info.type.tensor_type.elem_type == bfloat16 and tensor.data_type == onnx.TensorProto.UINT16:
                    tensor.data_type = bfloat16
                made.append(tensor)
            except Exception:  # noqa: BLE001  types that this NumPy does not have
                return None
        else:
            return None
    return made


def write(directory, name, model, inputs, outputs):
    path = os.path.join(directory, name)
    with open(path + ".onnx", "wb") as file:
        file.write(model.SerializeToString())
    for kind, values in (("in", inputs), ("out", outputs)):
        for number, value in enumerate(values or []):
            with open(f"{path}.{kind}{number}.pb", "wb") as file:
                file.write(value.SerializeToString())


def with_constants(model, inputs):
    """The test with all inputs except the first as initializers."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for info, value in zip(list(model.graph.input)[1:], inputs[1:]):
        value.name = info.name
        changed.graph.initializer.append(value)
    del changed.graph.input[1:]
    return changed


def main():
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)
    count = without_values = 0
    for case in cases():
        model = case.model
        if model is None:
            continue
        count += 1
        inputs = outputs = None
        for data_inputs, data_outputs in list(case.data_sets or [])[:1]:
            inputs, outputs = tensors(data_inputs, model.graph.input), tensors(data_outputs, model.graph.output)
        if inputs is None or outputs is None or len(inputs) != len(model.graph.input):
            without_values += 1
            write(directory, case.name, model, None, None)
            continue
        write(directory, case.name, model, inputs, outputs)
        if len(inputs) > 1:
            write(directory, case.name + "@constants", with_constants(model, inputs), inputs[:1], outputs)
    print(f"onnx {onnx.__version__}: {count} node tests, {without_values} of them without values that NumPy has")


if __name__ == "__main__":
    main()
