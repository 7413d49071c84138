#!/usr/bin/env python3
"""The weights of `train --init he:SEED`, bit for bit: runtime/train/initial.cpp in NumPy.

    from initial_weights import he
    weight = he(1, "conv1.weight", (64, 3, 7, 7))

usage: initial_weights.py SEED NAME DIMS…    prints the little-endian bytes of the float32 values, in hexadecimal
"""
import math
import sys

import numpy as np

MASK = (1 << 64) - 1


def random_bits(seed, counter):
    """The finalizer of splitmix64 over both words; `counter` is a number or an array of uint64."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed * 0xD1342543DE82EF95 & MASK) + (np.uint64(1) + counter) * np.uint64(0x9E3779B97F4A7C15)
        for _ in range(2):
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(31))
    return z


def field_sum(words):
    return sum((words >> np.uint64(16 * field)) & np.uint64(0xFFFF) for field in range(4))


def he(seed, name, dims):
    key = seed
    for byte in name.encode():
        key = int(random_bits(key, np.uint64(byte)))
    count = int(np.prod(dims, dtype=np.int64))
    fan_in = max(1, count // max(1, dims[0]))
    scale = math.sqrt(2.0 / fan_in) / math.sqrt(8.0 * (65536.0 * 65536.0 - 1.0) / 12.0)
    out = np.empty(count, np.float32)
    piece = 1 << 22  # elements at a time, so that a large layer is not in memory twice
    for first in range(0, count, piece):
        at = np.uint64(2) * np.arange(first, min(count, first + piece), dtype=np.uint64)
        total = field_sum(random_bits(key, at)) + field_sum(random_bits(key, at + np.uint64(1)))
        out[first:first + len(at)] = (total.astype(np.int64) - 8 * 65535 // 2).astype(np.float64) * scale
    return out.reshape(dims)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    print(he(int(sys.argv[1]), sys.argv[2], tuple(map(int, sys.argv[3:]))).astype("<f4").tobytes().hex())
