"""Small models that are neither image classifiers nor language models: segmentation, diffusion, video, audio, tabular
data, generators and discriminators, metric learning, points and graphs, recommendation, control.

Some come from segmentation_models_pytorch, diffusers, MONAI and torchvision. The others are in other_models/, written
as in tutorials."""

# Each registers its models, in this order.
from other_models import images, sequences, tables, generators, structures, written, libraries  # noqa: F401
from other_models.registry import FLAGS, OTHERS  # noqa: F401

MODELS = OTHERS


def title(name):
    return name


def make(name, batch):
    """The model, and its example inputs by name."""
    import torch
    return OTHERS[name](torch, batch)
