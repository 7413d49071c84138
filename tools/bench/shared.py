"""Small networks for parity.py in which not every tensor of the file is trained by itself: layers that are called
twice, batch normalizations in evaluation mode, buffers and constants that are not parameters."""
import torch
from torch import nn


class Shared(nn.Module):
    """Every layer except the first is called at least twice."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 1, groups=8)
        self.layer_norm = nn.LayerNorm(8)
        self.linear = nn.Linear(8, 8)
        self.head = nn.Linear(8, 1000)

    def forward(self, x):
        x = self.stem(x)
        for _ in range(2):
            x = torch.tanh(self.depthwise(self.norm(x)))
        x = x.mean((2, 3))
        for _ in range(2):
            x = torch.tanh(self.linear(self.layer_norm(x)))
        return self.head(x) + self.head(self.linear(x))


class FrozenNorm(nn.Module):
    """As in fine-tuning: the first normalization keeps its statistics, and the second updates them."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8))
        self.second = nn.Sequential(nn.Conv2d(8, 8, 3, bias=False), nn.BatchNorm2d(8))
        self.head = nn.Linear(8, 1000)
        for norm, at in ((self.first[1], 0.25), (self.second[1], -0.5)):
            norm.running_mean.uniform_(at, at + 0.5)
            norm.running_var.uniform_(0.5, 2)

    def train(self, mode=True):
        super().train(mode)
        self.first[1].eval()
        return self

    def forward(self, x):
        return self.head(torch.tanh(self.second(torch.tanh(self.first(x)))).mean((2, 3)))


class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3)
        self.register_buffer("scale", torch.randn(8, 1, 1))
        self.register_buffer("shift", torch.randn(8, 1, 1), persistent=False)
        self.epsilon = torch.full((8,), 1e-2)
        self.head = nn.Linear(8, 1000)

    def forward(self, x):
        x = torch.tanh(self.stem(x) * self.scale + self.shift).mean((2, 3))
        return self.head(x / (x * x + self.epsilon).sqrt())


make_shared = Shared
make_frozen_norm = FrozenNorm
make_buffers = Buffers
