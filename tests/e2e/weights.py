#!/usr/bin/env python3
"""weights.py A.onnx B.onnx MOST: the largest relative difference (norm of each tensor) between two models' weights;
exit 1 if it is above MOST. MOST 0 requires the same bits."""
import sys

import numpy as np
import onnx
from onnx import numpy_helper


def weights(path):
    return {i.name: numpy_helper.to_array(i) for i in onnx.load(path).graph.initializer}


a, b, most = weights(sys.argv[1]), weights(sys.argv[2]), float(sys.argv[3])
assert a.keys() == b.keys() and a, "the models have other weights"
worst = (0.0, "none")
for name in a:
    if a[name].dtype.kind != "f":
        continue
    if most == 0 and a[name].tobytes() != b[name].tobytes():
        sys.exit(f"{name} has other bits")
    x, y = a[name].astype(np.float64), b[name].astype(np.float64)
    worst = max(worst, (np.linalg.norm(x - y) / max(np.linalg.norm(y), 1e-30), name))
print(f"largest difference {worst[0]:.2e} of {worst[1]}")
sys.exit(0 if worst[0] <= most else 1)
