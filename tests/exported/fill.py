"""Draws samples, and the weights that a frozen model leaves out. They depend only on their names.

numpy's RandomState gives the same numbers in every version."""
import zlib

import numpy as np

KEPT = 64  # weights of at most this many elements stay in the file
SPEC = "plimsoll.test.draw"  # key of the external_data entry that describes the missing weight
DIRECTIONS = 4


def generator(name):
    return np.random.RandomState(zlib.crc32(name.encode()))


def spec_of(array, classes=None):
    """The description from which draw() draws an array like this one."""
    if array.dtype.kind == "f":
        return {
            "dims": list(array.shape), "type": "float", "mean": round(float(array.mean()), 6),
            "deviation": round(float(array.std()), 6)
        }
    low, high = (0, classes - 1) if classes else (int(array.min()), int(array.max()))
    return {"dims": list(array.shape), "type": "int", "low": low, "high": high}


def draw(name, spec):
    random = generator(name)
    if spec["type"] == "float":
        return (spec["mean"] + spec["deviation"] * random.uniform(-1.7, 1.7, spec["dims"])).astype(np.float32)
    return random.randint(spec["low"], spec["high"] + 1, spec["dims"]).astype(np.int64)


def digest(name, gradient):
    """A gradient's norm, and its products with random directions of norm 1."""
    flat = np.asarray(gradient, np.float64).ravel()
    random = generator(name + "/directions")
    products = []
    for _ in range(DIRECTIONS):
        direction = random.uniform(-1, 1, flat.size)
        products.append(float(flat @ direction / np.linalg.norm(direction)))
    return [float(np.linalg.norm(flat)), *products]


def is_left_out(array):
    return array.dtype == np.float32 and array.size > KEPT and np.unique(array[np.isfinite(array)]).size > KEPT // 2


def empty(proto):
    """Removes large weights from the model."""
    from onnx import TensorProto, numpy_helper
    for initializer in proto.graph.initializer:
        array = numpy_helper.to_array(initializer)
        if not is_left_out(array):
            continue
        spec = spec_of(array)
        for field in ("raw_data", "float_data"):
            initializer.ClearField(field)
        initializer.data_location = TensorProto.EXTERNAL
        del initializer.external_data[:]
        initializer.external_data.add(key=SPEC, value=f"{spec['mean']} {spec['deviation']}")


def fill(proto):
    """Draws the missing weights. Returns their initializers."""
    from onnx import TensorProto
    drawn = []
    for initializer in proto.graph.initializer:
        entry = next((entry for entry in initializer.external_data if entry.key == SPEC), None)
        if entry is None:
            continue
        mean, deviation = map(float, entry.value.split())
        array = draw(initializer.name,
                     {"dims": list(initializer.dims), "type": "float", "mean": mean, "deviation": deviation})
        del initializer.external_data[:]
        initializer.data_location = TensorProto.DEFAULT
        initializer.raw_data = array.tobytes()
        drawn.append(initializer)
    return drawn
