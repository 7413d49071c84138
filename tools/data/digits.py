#!/usr/bin/env python3
"""Writes the handwritten digits that ship inside scikit-learn as .npy files for `train --data npy:X.npy,Y.npy`.

The 1,797 images of 8x8 grey values are enlarged to 32x32 (bilinear), scaled to mean 0 and deviation 1, shuffled with a
fixed seed and split 80 : 20 into train and test.   usage: digits.py DIR
"""
import os
import sys

import numpy as np
from sklearn.datasets import load_digits


def enlarge(images, size):
    """Bilinear, pixel centres aligned: [N, h, w] -> [N, size, size]."""
    def weights(n):
        at = np.clip((np.arange(size) + 0.5) * n / size - 0.5, 0, n - 1)
        low = np.minimum(at.astype(int), n - 2)
        matrix = np.zeros((size, n), np.float32)
        matrix[np.arange(size), low] = 1 - (at - low)
        matrix[np.arange(size), low + 1] = at - low
        return matrix
    rows, columns = weights(images.shape[1]), weights(images.shape[2])
    return np.einsum("ih,nhw,jw->nij", rows, images, columns, optimize=True)


def main(directory):
    digits = load_digits()
    images = enlarge(digits.images.astype(np.float32) / 16, 32)[:, None]
    labels = digits.target.astype(np.int32)
    order = np.random.RandomState(0).permutation(len(images))
    split = len(images) * 4 // 5
    images = (images - images[order[:split]].mean()) / images[order[:split]].std()
    os.makedirs(directory, exist_ok=True)
    for name, part in (("train", order[:split]), ("test", order[split:])):
        np.save(os.path.join(directory, f"{name}_x.npy"), np.ascontiguousarray(images[part], np.float32))
        np.save(os.path.join(directory, f"{name}_y.npy"), labels[part])
    print(f"{directory}: {split} images of 1x32x32 to train on, {len(images) - split} to test on", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
