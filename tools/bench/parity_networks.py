"""The networks that parity.py compares with PyTorch, with their initial weights and samples."""
import numpy as np
import torch
import torchvision

import assorted
import recurrent
import shared
import transformers
from torchvision_models import MainOutput

STEPS = 5


def segmentation(name):
    return MainOutput(getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None))


def vit_b_16():
    model = torchvision.models.vit_b_16(image_size=64)
    # Torchvision's is zero, and all gradients before it would be zero, too.
    torch.nn.init.normal_(model.heads.head.weight, std=0.02)
    return model


# name: (constructor, image size, batch, seeds of samples). Some are small to save time or to avoid rounding decisions.
MODELS = {
    "alexnet": (lambda: torchvision.models.alexnet(), 224, 4, [1, 2, 3]),
    "vgg16": (lambda: torchvision.models.vgg16(), 224, 1, [1, 2, 3]),
    "resnet18": (lambda: torchvision.models.resnet18(), 64, 8, [1, 2, 3]),
    "resnet50": (lambda: torchvision.models.resnet50(), 32, 8, [2, 1, 3]),
    "googlenet": (lambda: torchvision.models.googlenet(aux_logits=False, init_weights=False), 64, 8, [1, 2, 3]),
    "inception_v3": (lambda: torchvision.models.inception_v3(aux_logits=False, init_weights=False), 75, 8, [1, 3, 2]),
    "densenet121": (lambda: torchvision.models.densenet121(), 64, 4, [2, 1, 3]),
    "mobilenet_v2": (lambda: torchvision.models.mobilenet_v2(), 64, 8, [1, 2, 3]),
    "fcn_resnet50": (lambda: segmentation("fcn_resnet50"), 32, 4, [1, 2, 4]),
    "deeplabv3_mobilenet": (lambda: segmentation("deeplabv3_mobilenet_v3_large"), 64, 4, [1, 4, 3]),
    "lraspp_mobilenet": (lambda: segmentation("lraspp_mobilenet_v3_large"), 64, 4, [1, 2, 3]),
    "efficientnet_b0": (lambda: torchvision.models.efficientnet_b0(), 64, 8, [1, 2, 3]),
    "maxvit_t": (lambda: torchvision.models.maxvit_t(), 224, 2, [1, 2, 3]),
    "convnext_tiny": (lambda: torchvision.models.convnext_tiny(), 64, 4, [1, 2, 3]),
    "swin_t": (lambda: torchvision.models.swin_t(), 64, 4, [1, 2, 3]),
    "swin_v2_t": (lambda: torchvision.models.swin_v2_t(), 64, 4, [1, 2, 3]),
    "vit_b_16": (lambda: vit_b_16(), 64, 4, [1, 2, 3]),
    "shufflenet_v2": (lambda: torchvision.models.shufflenet_v2_x0_5(), 64, 4, [5, 4, 3]),
    "mobilenet_v3": (lambda: torchvision.models.mobilenet_v3_small(), 64, 4, [3, 2, 4]),
    "squeezenet": (lambda: torchvision.models.squeezenet1_1(), 64, 4, [1, 3, 4]),
    "regnet_y": (lambda: torchvision.models.regnet_y_400mf(), 64, 4, [2, 5, 1]),
    "gpt": (transformers.make_gpt, transformers.TOKENS, 4, [1, 2, 3]),
    "gpt_fused": (transformers.make_gpt_fused, transformers.TOKENS, 4, [1, 2, 3]),
    "llama": (transformers.make_llama, transformers.TOKENS, 4, [1, 2, 3]),
    "encoder": (transformers.make_encoder, transformers.TOKENS, 4, [1, 2, 3]),
    "vit": (transformers.make_vit, 32, 4, [1, 2, 3]),
    "assorted": (assorted.make_assorted, 24, 4, [1, 2, 3]),
    "smooth_activations": (assorted.make_smooth_activations, 24, 4, [1, 2, 3]),
    "shared": (shared.make_shared, 24, 4, [1, 2, 3]),
    "frozen_norm": (shared.make_frozen_norm, 24, 4, [1, 2, 3]),
    "buffers": (shared.make_buffers, 24, 4, [1, 2, 3]),
    "lstm": (recurrent.make_lstm, recurrent.SIZE, 4, [1, 2, 3]),
    "lstm_states": (recurrent.make_lstm_states, recurrent.SIZE, 4, [1, 2, 3]),
    "gru": (recurrent.make_gru, recurrent.SIZE, 4, [1, 2, 3]),
    "rnn": (recurrent.make_rnn, recurrent.SIZE, 4, [1, 2, 3]),
    "tagger": (recurrent.make_tagger, transformers.TOKENS, 4, [1, 2, 3]),
    "packed": (recurrent.make_packed, transformers.TOKENS, 4, [1, 2, 3]),
    "language_model": (recurrent.make_language_model, transformers.TOKENS, 4, [1, 2, 3]),
    "cnn_lstm": (recurrent.make_cnn_lstm, recurrent.SIZE, 4, [1, 2, 3]),
}
READS_TOKENS = {"gpt", "gpt_fused", "llama", "encoder", "tagger", "packed", "language_model"}
MAKES_PIXELS = {"fcn_resnet50", "deeplabv3_mobilenet", "lraspp_mobilenet"}
PIXEL_CLASSES = 21
# Information missing from the dynamo exporter's files: it writes a batch normalization in eval() like one in train().
OPTIONS_OF_DYNAMO = {"frozen_norm": ["--frozen-statistics", "first.*"]}
# The first opset that has Attention and RMSNormalization.
OPSETS = {"gpt_fused": 23, "llama": 23}
# TorchScript's exporter supports neither stochastic depth nor those operators.
ONLY_BY_DYNAMO = {*OPSETS, "efficientnet_b0", "maxvit_t", "convnext_tiny", "swin_t", "swin_v2_t", "buffers"}
# With biases of 0, ShuffleNet's scales before depthwise convolutions have no effect: a Relu passes them on, and the
# next batch normalization removes them. The biases of these networks are about this value, with both signs or only
# positive: a Relu6 has two edges, and 2 is far enough from both. Other networks keep torchvision's biases.
SPREAD = {"resnet50": (1.75, True), "googlenet": (1.75, True), "inception_v3": (1.75, True), "densenet121": (1.5, True),
          "mobilenet_v2": (2.0, False), "fcn_resnet50": (1.75, True), "shufflenet_v2": (0.75, False)}


def make_model(name, draw=0):
    torch.manual_seed(draw)
    model = MODELS[name][0]()
    for module in model.modules():
        if isinstance(module, (torch.nn.Dropout, torchvision.ops.StochasticDepth)):
            module.p = 0.0
    if name in SPREAD:
        spread_biases(model, *SPREAD[name], seed=draw + 1)
    return model.train()


def spread_biases(model, about, either_sign, seed):
    chance = torch.Generator().manual_seed(seed)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            bias = about + 0.5 * (torch.rand(module.bias.shape, generator=chance) - 0.5)
            if either_sign:
                bias *= 2 * torch.randint(0, 2, module.bias.shape, generator=chance) - 1
            module.bias.data.copy_(bias)


def make_samples(name, seed):
    _, size, batch, _ = MODELS[name]
    rng = np.random.RandomState(seed)
    if name in READS_TOKENS:
        return tuple(torch.from_numpy(rng.randint(0, transformers.VOCABULARY, (batch * STEPS, size))) for _ in range(2))
    x = torch.from_numpy(rng.randn(batch * STEPS, 3, size, size).astype(np.float32))
    if name in MAKES_PIXELS:
        return x, torch.from_numpy(rng.randint(0, PIXEL_CLASSES, (batch * STEPS, size, size)))
    return x, torch.from_numpy(rng.randint(0, 1000, batch * STEPS))
