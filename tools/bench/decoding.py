#!/usr/bin/env python3
"""How much faster a trainer reads photos with --scaled-decode.

The network is so small that reading the images takes nearly all of the time. Photos of three sizes are written as JPEG
(noise that is smoothed, quality 90, 4:2:0). One epoch is trained with and without --scaled-decode, in turns, and the
median of samples per second counts.

Needs Pillow and numpy.

usage: decoding.py --plimsoll build/bin/plimsoll [--rounds 3] [--workers 1] [--cmake-option=-DPLIMSOLL_RUNTIME=build]
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

import numpy as np
from PIL import Image, ImageFilter

SIZES = ((500, 375), (1024, 768), (4000, 3000))
FLAGS = ("--resize", "256", "--random-resized-crop", "--flip", "--normalize", "imagenet")
SCALED = "--scaled-decode"


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"$ {' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}{done.stderr}")


def write_photos(folder, size, count):
    random = np.random.default_rng(0)
    for number in range(count):
        os.makedirs(f"{folder}/{number % 2}", exist_ok=True)
        small = Image.fromarray(random.integers(0, 256, (size[1] // 4, size[0] // 4, 3), np.uint8))
        photo = small.resize(size, Image.BICUBIC).filter(ImageFilter.GaussianBlur(2))
        photo.save(f"{folder}/{number % 2}/{number}.jpg", quality=90)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--photos", type=int, default=64)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--work", default="build/bench/decoding")
    parser.add_argument("--cmake-option", action="append", default=[], help="e.g. -DPLIMSOLL_RUNTIME=build")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    model, trainer = f"{args.work}/model.onnx", f"{args.work}/trainer"
    run([args.plimsoll, "model", "vgg11:input=224,width=1,hidden=8,classes=2", "-o", model])
    run([args.plimsoll, "compile", model, "--batch", 8, "--costs", "modelled", "-q", "-o", trainer])
    run(["cmake", "-S", trainer, "-B", f"{trainer}/build", *args.cmake_option])
    run(["cmake", "--build", f"{trainer}/build"])
    print("| photos | samples/s | with --scaled-decode | ratio |")
    print("|---|--:|--:|--:|", flush=True)
    for size in SIZES:
        photos = f"{args.work}/{size[0]}x{size[1]}"
        if not os.path.isdir(photos):
            write_photos(photos, size, args.photos)
        rates = {False: [], True: []}
        for _ in range(args.rounds):
            for scaled in rates:
                began = time.perf_counter()
                scaling = [SCALED] if scaled else []
                run([f"{trainer}/build/train", "--data", f"images:{photos}", *FLAGS, "--workers", args.workers,
                     "--quiet", *scaling])
                rates[scaled].append(args.photos / (time.perf_counter() - began))
        slow, fast = (statistics.median(rates[scaled]) for scaled in (False, True))
        print(f"| {size[0]}×{size[1]} | {slow:.0f} | {fast:.0f} | {fast / slow:.2f} |", flush=True)


if __name__ == "__main__":
    main()
