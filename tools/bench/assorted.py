"""A small network for parity.py, with layers that torchvision's classifiers do not have: operators that Plimsoll
rewrites as others, and resizing."""
import torch
from torch import nn


class Mix(nn.Module):
    """Channels as a sequence: matrix products by einsum, as attention is often written."""

    def __init__(self, channels):
        super().__init__()
        self.mix = nn.Parameter(torch.randn(channels, channels) / channels ** 0.5)

    def forward(self, x):
        flat = x.flatten(2)
        weights = torch.softmax(torch.einsum("bcp,bdp->bcd", flat, flat) / flat.shape[2], dim=-1)
        mixed = torch.einsum("bcd,bdp->bcp", weights + self.mix, flat)
        return mixed.view_as(x)


class Shortcuts(nn.Module):
    """Sums after batch normalization that a residual network does not have: of the same tensor, and of two normalized
    tensors, with and without a Relu after them."""

    def __init__(self, channels):
        super().__init__()
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(4))

    def forward(self, x):
        x = torch.relu(x + self.norms[0](x))
        return self.norms[1](x) + torch.relu(self.norms[2](x) + self.norms[3](x))


class Assorted(nn.Module):
    def __init__(self):
        super().__init__()
        self.images = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.InstanceNorm2d(16, affine=True),
                                    nn.PReLU(16), nn.Conv2d(16, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.Mish(),
                                    nn.PixelShuffle(2), nn.Conv2d(8, 16, 1),
                                    nn.Upsample(scale_factor=1.5, mode="bilinear"), nn.SELU(),
                                    nn.Conv2d(16, 16, 3, stride=2), nn.Upsample(scale_factor=2), Shortcuts(16), Mix(16),
                                    nn.Softplus(), nn.Upsample(size=(12, 10), mode="bilinear", align_corners=True),
                                    nn.PixelUnshuffle(2), nn.Conv2d(64, 96, 3), nn.PReLU(), nn.AdaptiveMaxPool2d(1))
        self.series = nn.Sequential(nn.Conv1d(4, 8, 3, padding=1), nn.BatchNorm1d(8), nn.ELU(), nn.MaxPool1d(3, 2, 1),
                                    nn.ConvTranspose1d(8, 6, 4, stride=2), nn.AvgPool1d(2), nn.InstanceNorm1d(6),
                                    nn.Conv1d(6, 8, 5, dilation=2, groups=2), nn.Flatten(1))
        self.scores = nn.Sequential(nn.Linear(40, 1000), nn.LogSoftmax(-1))

    def forward(self, x):
        return self.scores(self.series(self.images(x).view(-1, 4, 24)))


def make_assorted():
    return Assorted()


class SmoothActivations(nn.Module):
    """Activations after normalizations, which the compiler fuses if no sum comes between."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.SiLU(),
                                   nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.BatchNorm2d(16), nn.Hardswish(),
                                   nn.Conv2d(16, 10, 1), nn.BatchNorm2d(10), nn.SiLU(), nn.Conv2d(10, 16, 1))
        self.norm = nn.BatchNorm2d(16)
        self.last = nn.Sequential(nn.Conv2d(16, 24, 3), nn.GroupNorm(4, 24), nn.SiLU(), nn.Conv2d(24, 32, 3),
                                  nn.InstanceNorm2d(32, affine=True), nn.SiLU(), nn.AdaptiveAvgPool2d(2),
                                  nn.Flatten(), nn.Linear(128, 1000))

    def forward(self, x):
        x = self.first(x)
        return self.last(nn.functional.silu(x + self.norm(x)))


def make_smooth_activations():
    return SmoothActivations()
