"""The networks of gpu_check.sh: how each is made in PyTorch, and where its parameters are in a model file. Needs torch
and torchvision. It parses just enough of ONNX's wire format to find the weights."""
import os
import sys

import numpy as np
import torch
import torchvision

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from initial_weights import he  # noqa: E402



class CausalBlock(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.of_head, self.width = heads, width // heads, width
        self.fused = False  # whether attention is PyTorch's one operator; otherwise it is spelled out, also in the file
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        for norm in (self.norm1, self.norm2):  # the exporter merges equal parameters
            torch.nn.init.normal_(norm.weight, 1, 0.02)
            torch.nn.init.normal_(norm.bias, 0, 0.02)
        self.query, self.key, self.value, self.out = (torch.nn.Linear(width, width) for _ in range(4))
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        normal, tokens = self.norm1(x), int(x.shape[1])
        query, key, value = (part(normal).reshape(-1, tokens, self.heads, self.of_head).transpose(1, 2)
                             for part in (self.query, self.key, self.value))
        if self.fused:
            attended = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            return self.fed_forward(x + self.out(attended.transpose(1, 2).reshape(-1, tokens, self.width)))
        # The factor is between two transpositions, which the exporter would merge into one.
        scores = torch.matmul(query, (key * self.of_head ** -0.5).transpose(2, 3))
        future = torch.ones(tokens, tokens, device=x.device).tril() == 0
        attended = torch.matmul(torch.softmax(scores.masked_fill(future, float("-inf")), 3), value)
        return self.fed_forward(x + self.out(attended.transpose(1, 2).reshape(-1, tokens, self.width)))

    def fed_forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


class PatchGpt(torch.nn.Module):
    """A small GPT whose tokens are the patches of an image, in their order; it classifies by the last one. So it takes
    the samples of the other networks."""

    def __init__(self, image=64, patch=8, width=128, heads=4, layers=2, classes=1000):
        super().__init__()
        self.embed = torch.nn.Conv2d(3, width, patch, patch)
        self.position = torch.nn.Parameter(torch.randn(1, (image // patch) ** 2, width) * 0.02)
        self.blocks = torch.nn.Sequential(*(CausalBlock(width, heads) for _ in range(layers)))
        self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, classes)

    def forward(self, images):
        tokens = self.embed(images).flatten(2).transpose(1, 2) + self.position
        return self.head(self.norm(self.blocks(tokens))[:, -1])


class RowReader(torch.nn.Module):
    """Reads the rows of an image, one after the other; it classifies by what it knows after the last one."""

    def __init__(self, kind, image=224, hidden=512, layers=2, classes=1000):
        super().__init__()
        self.recurrent = kind(3 * image, hidden, layers, batch_first=True)
        self.head = torch.nn.Linear(hidden, classes)

    def forward(self, images):
        rows = images.permute(0, 2, 1, 3).flatten(2)
        return self.head(self.recurrent(rows)[0][:, -1])


# name: (constructor, image size)
NETWORKS = {
    "resnet50": (lambda: torchvision.models.resnet50(), 224),
    "vgg16": (lambda: torchvision.models.vgg16(), 224),
    "googlenet": (lambda: torchvision.models.googlenet(aux_logits=False, init_weights=False), 224),
    "densenet121": (lambda: torchvision.models.densenet121(), 224),
    "inception_v3": (lambda: torchvision.models.inception_v3(aux_logits=False, init_weights=False), 299),
    # GPT-2 small: 12 layers of width 768 over 1,024 tokens
    "gpt_small": (lambda: PatchGpt(image=224, patch=7, width=768, heads=12, layers=12), 224),
    "vit_b_16": (lambda: torchvision.models.vit_b_16(), 224),
    "lstm": (lambda: RowReader(torch.nn.LSTM), 224),
    "gru": (lambda: RowReader(torch.nn.GRU), 224),
    # small ones, for sanitizers and dry runs
    "resnet18": (lambda: torchvision.models.resnet18(), 64),
    "gpt": (lambda: PatchGpt(), 64),  # its attention is spelled out here, and one operator in the trainer
}
SEQUENCES = ["gpt_small", "vit_b_16", "lstm", "gru"]  # of tokens or rows: without memory formats


def make(name):
    """Without dropout, because PyTorch's masks differ from ours."""
    torch.manual_seed(0)
    model = NETWORKS[name][0]()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return model.train()


def is_drawn(dims):
    """Whether `train --init he:SEED` draws a parameter: it draws weight matrices and filters."""
    return len(dims) >= 2


def twin(name, seed, small):
    """The network in PyTorch with the trainer's initial weights. `small` holds those that are not drawn."""
    model = make(name)
    state = {}
    for key, tensor in model.state_dict().items():
        dims = tuple(tensor.shape)
        if is_drawn(dims):
            state[key] = torch.from_numpy(he(seed, key, dims))
        else:
            state[key] = torch.from_numpy(small[key]) if key in small else tensor
    model.load_state_dict(state)
    return model


def _varint(data, at):
    value, shift = 0, 0
    while True:
        byte = int(data[at])  # not a uint8, which overflows
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data, at, end):
    """(field, begin, end) of each part of a message; numbers have begin == end."""
    while at < end:
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value, value
        elif kind == 2:
            length, at = _varint(data, at)
            yield tag >> 3, at, at + length
            at += length
        else:
            at += 8 if kind == 1 else 4


def initializers(data):
    """{name: (offset, bytes, dims)} of the float data of a model file, either inside it or in its external data file.
    Fields: ModelProto.graph 7, .initializer 5, TensorProto {dims 1, data_type 2, name 8, raw_data 9, external_data 13
    {key 1, value 2}}."""
    found = {}
    for field, begin, end in _fields(data, 0, len(data)):
        if field != 7:
            continue
        for field, first, last in _fields(data, begin, end):
            if field != 5:
                continue
            dims, name, raw, kind, outside = [], "", None, 0, {}
            for part, a, b in _fields(data, first, last):
                if part == 1 and a == b:
                    dims.append(a)
                elif part == 1:  # packed
                    at = a
                    while at < b:
                        value, at = _varint(data, at)
                        dims.append(value)
                elif part == 2:
                    kind = a
                elif part == 8:
                    name = bytes(data[a:b]).decode()
                elif part == 9:
                    raw = (a, b)
                elif part == 13:
                    key, value = (bytes(data[x:y]).decode() for _, x, y in _fields(data, a, b))
                    outside[key] = value
            if "offset" in outside and "length" in outside:
                raw = (int(outside["offset"]), int(outside["offset"]) + int(outside["length"]))
            if raw and kind == 1:
                found[name] = (raw[0], raw[1] - raw[0], tuple(dims))
    return found


def read_weights(path):
    """All float parameters of a model file."""
    data = np.memmap(path, np.uint8, "r")
    return {name: np.frombuffer(data[offset:offset + size].tobytes(), "<f4").reshape(dims)
            for name, (offset, size, dims) in initializers(data).items()}
