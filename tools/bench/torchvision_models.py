#!/usr/bin/env python3
"""Which of torchvision's networks can be exported for training and planned: one small network and one line per family.

  classification   at 64x64, or at a larger size that a network requires
  segmentation     their main output

The exporter depends on the PyTorch version: TorchScript's before PyTorch 2, else dynamo's (--exporter chooses).

usage: torchvision_models.py --plimsoll build/bin/plimsoll [--models resnet50,swin_t] [--work DIR] [--exporter
torchscript|dynamo]
"""
import argparse
import logging
import os
import subprocess
import warnings

import torch
import torchvision

CLASSIFICATION = [
    "alexnet", "vgg11_bn", "resnet18", "resnext50_32x4d", "wide_resnet50_2", "squeezenet1_1", "densenet121",
    "googlenet", "inception_v3", "mobilenet_v2", "mobilenet_v3_small", "mnasnet0_5", "shufflenet_v2_x0_5",
    "regnet_y_400mf", "efficientnet_b0", "efficientnet_v2_s", "convnext_tiny", "vit_b_16", "swin_t", "swin_v2_t",
    "maxvit_t"
]
SEGMENTATION = ["fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"]
SIZES = {"alexnet": 224, "vgg11_bn": 224, "inception_v3": 107, "maxvit_t": 224}


class MainOutput(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)["out"]


def make(name):
    if name in SEGMENTATION:
        return MainOutput(getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None))
    options = {
        "googlenet": dict(aux_logits=False, init_weights=False),
        "inception_v3": dict(aux_logits=False, init_weights=False), "vit_b_16": dict(image_size=64)
    }.get(name, {})
    return getattr(torchvision.models, name)(**options)


def export(name, path, exporter):
    torch.manual_seed(0)
    size = SIZES.get(name, 64)
    model, x = make(name).train(), torch.randn(2, 3, size, size)
    if exporter == "dynamo":
        torch.onnx.export(model, (x,), path, dynamo=True, optimize=False, verbose=False,
                          dynamic_shapes=({0: torch.export.Dim("batch")},))
    else:
        torch.onnx.export(model, x, path, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                          opset_version=15, input_names=["images"], dynamic_axes={"images": {0: "batch"}})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", required=True)
    parser.add_argument("--models", default=",".join(CLASSIFICATION + SEGMENTATION))
    parser.add_argument("--work", default="build/torchvision")
    parser.add_argument("--exporter", default="dynamo" if int(torch.__version__.split(".")[0]) >= 2 else "torchscript",
                        choices=["torchscript", "dynamo"])
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    os.makedirs(args.work, exist_ok=True)
    for name in args.models.split(","):
        path = f"{args.work}/{name}.{args.exporter}.onnx"
        try:
            if not os.path.exists(path):
                export(name, path, args.exporter)
        except Exception as error:  # any exception of the exporter
            print(f"{name:30} not exported: {str(error).splitlines()[0][:100]}", flush=True)
            continue
        done = subprocess.run([args.plimsoll, "plan", path, "--batch", "4", "--assume", "trainable",
                               "--policy", "liveness", "--costs", "modelled", "-o", "/dev/null"],
                              capture_output=True, text=True)
        said = [line for line in done.stderr.splitlines() if line.startswith(("error", "note: node", "note: "))][:2]
        print(f"{name:30} " + ("planned" if done.returncode == 0 else f"exit {done.returncode}: {' | '.join(said)}"),
              flush=True)


if __name__ == "__main__":
    main()
