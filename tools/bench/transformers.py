"""Small transformers for parity.py, written as users write them: GPT-2's shape, Llama's, an encoder with a causal mask,
torchvision's ViT."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models.vision_transformer import VisionTransformer

VOCABULARY, TOKENS = 96, 24


class Block(nn.Module):
    def __init__(self, width, heads, new_gelu, fused):
        super().__init__()
        self.heads, self.new_gelu, self.fused = heads, new_gelu, fused
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.c_out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("bias", torch.tril(torch.ones(TOKENS, TOKENS)).view(1, 1, TOKENS, TOKENS))

    def attend(self, x):
        n, t, c = x.size()
        q, k, v = self.c_attn(x).split(c, dim=2)
        q, k, v = (part.view(n, t, self.heads, c // self.heads).transpose(1, 2) for part in (q, k, v))
        if self.fused:
            return self.c_proj(
                F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).contiguous().view(n, t, c))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
        return self.c_proj((F.softmax(scores, dim=-1) @ v).transpose(1, 2).contiguous().view(n, t, c))

    def gelu(self, x):
        if self.new_gelu:
            return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))
        return F.gelu(x)

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.c_out(self.gelu(self.c_fc(self.ln_2(x))))


class Gpt(nn.Module):
    """As in nanoGPT: a table of positions, a mask in a buffer, and the same matrix for the head and the embedding."""

    def __init__(self, width=32, heads=2, layers=2, fused=False):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, width), nn.Embedding(TOKENS, width)
        self.h = nn.ModuleList(Block(width, heads, i % 2 == 0, fused) for i in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, VOCABULARY, bias=False)
        if not fused:  # the exporter for the fused one keeps only one of the two names
            self.lm_head.weight = self.wte.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(0, ids.size(1), dtype=torch.long))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def turned(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


class LlamaBlock(nn.Module):
    """As in Llama: RMS normalization, rotary positions, two query heads per key head, a SiLU gate."""

    def __init__(self, width, heads, shared):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.before, self.behind = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, width // shared, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * width, width, bias=False)
        angles = torch.outer(torch.arange(TOKENS), 100.0 ** (-torch.arange(0, self.size, 2) / self.size)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def attend(self, x):
        n, t, c = x.size()
        q, k, v = (part(x).view(n, t, -1, self.size).transpose(1, 2) for part in (self.q, self.k, self.v))
        q, k = turned(q, self.cos, self.sin), turned(k, self.cos, self.sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.o(y.transpose(1, 2).contiguous().view(n, t, c))

    def forward(self, x):
        x = x + self.attend(self.before(x))
        normal = self.behind(x)
        return x + self.down(F.silu(self.gate(normal)) * self.up(normal))


class Llama(nn.Module):
    def __init__(self, width=32, heads=4, shared=2, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.layers = nn.ModuleList(LlamaBlock(width, heads, shared) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width, eps=1e-5), nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Encoder(nn.Module):
    """torch.nn's own layers, with an additive mask."""

    def __init__(self, width=32, heads=2, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        layer = nn.TransformerEncoderLayer(width, heads, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, VOCABULARY)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(TOKENS))

    def forward(self, ids):
        return self.head(self.encoder(self.embedding(ids), mask=self.mask))


def drawn(model):
    """Without zero weights: torchvision's head begins with zeros, and no gradient would reach the layers before it."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.1)
    return model


def make_gpt():
    return drawn(Gpt())


def make_gpt_fused():
    return drawn(Gpt(fused=True))


def make_llama():
    return drawn(Llama())


def make_encoder():
    return drawn(Encoder())


def make_vit():
    return drawn(VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64))
