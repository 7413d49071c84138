"""Small models of other kinds than classifiers of images and language models: segmentation, diffusion, video, audio, tabular data,
generators and discriminators, metric learning, points and graphs, recommendation, control.

Those of segmentation_models_pytorch, diffusers and torchvision are theirs; the rest is written in other_models/ as tutorials write it."""

from other_models import images, sequences, tables, generators, structures, written  # noqa: F401 (each registers its models, in this order)
from other_models.registry import FLAGS, OTHERS  # noqa: F401

MODELS = OTHERS


def title(name):
    return name


def make(name, batch):
    """The model, its example inputs by name."""
    import torch
    return OTHERS[name](torch, batch)
