"""The networks of step_time.py in PyTorch, with a batch of samples and the flags that the compiler takes for the same
training. Convolutional networks train with momentum, transformers with AdamW. Dropout is 0 on both sides."""
import dataclasses
from typing import Callable

import torch

VOCABULARY = 50257


@dataclasses.dataclass
class Network:
    title: str
    batch: int
    make: Callable[[], torch.nn.Module]
    inputs: Callable[[int], dict]  # of the batch: example inputs by name
    labels: Callable[[int], torch.Tensor]
    images: bool = True  # PyTorch runs it in channels_last, too
    flags: tuple = ("--optimizer", "momentum")
    learning_rate: float = 0.01


class Logits(torch.nn.Module):
    """A model of transformers with tensors as inputs and as output."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids).logits


def vision(name, title):
    import torchvision

    return Network(title, 8, lambda: getattr(torchvision.models, name)(),
                   lambda n: {"input": torch.randn(n, 3, 224, 224)}, lambda n: torch.randint(0, 1000, (n,)))


def transformer(title, batch, make, inputs, labels):
    return Network(title, batch, make, inputs, labels, False, ("--optimizer", "adamw", "--weight-decay", "0.01"), 1e-4)


def timm_vision(name):
    import timm

    size = timm.get_pretrained_cfg(name).input_size[-1]
    return Network(name, 8, lambda: timm.create_model(name, pretrained=False),
                   lambda n: {"input": torch.randn(n, 3, size, size)}, lambda n: torch.randint(0, 1000, (n,)))


def vit():
    import torchvision

    return transformer("ViT-B/16", 8, torchvision.models.vit_b_16, lambda n: {"input": torch.randn(n, 3, 224, 224)},
                       lambda n: torch.randint(0, 1000, (n,)))


def gpt2(tokens, batch):
    def make():
        import transformers
        config = transformers.GPT2Config(n_positions=max(tokens, 1024), embd_pdrop=0, attn_pdrop=0, resid_pdrop=0,
                                         use_cache=False)
        return Logits(transformers.GPT2LMHeadModel(config))

    return transformer(f"GPT-2 small, T={tokens}", batch, make,
                       lambda n: {"input_ids": torch.randint(0, VOCABULARY, (n, tokens))},
                       lambda n: torch.randint(0, VOCABULARY, (n, tokens)))


def bert():
    def make():
        import transformers
        config = transformers.BertConfig(hidden_dropout_prob=0, attention_probs_dropout_prob=0, num_labels=10)
        return Logits(transformers.BertForSequenceClassification(config))

    return transformer("BERT-base, T=128", 8, make, lambda n: {"input_ids": torch.randint(0, 30522, (n, 128))},
                       lambda n: torch.randint(0, 10, (n,)))


NETWORKS = {
    "resnet18": lambda: vision("resnet18", "ResNet-18"),
    "resnet50": lambda: vision("resnet50", "ResNet-50"),
    "mobilenet_v2": lambda: vision("mobilenet_v2", "MobileNet v2"),
    "densenet121": lambda: vision("densenet121", "DenseNet-121"),
    "vgg16": lambda: vision("vgg16", "VGG-16"),
    "convnext_tiny": lambda: vision("convnext_tiny", "ConvNeXt-T"),
    "efficientnet_b0": lambda: vision("efficientnet_b0", "EfficientNet-B0"),
    "mobilenet_v3_large": lambda: vision("mobilenet_v3_large", "MobileNet v3 large"),
    "vit_b_16": vit,
    "gpt2_256": lambda: gpt2(256, 4),
    "gpt2_1024": lambda: gpt2(1024, 4),
    "bert": bert,
}


def find(name):
    """The description of a network of NETWORKS, or of timm:NAME."""
    return timm_vision(name.removeprefix("timm:")) if name.startswith("timm:") else NETWORKS[name]()


def without_dropout(model):
    for module in model.modules():
        if isinstance(module, torch.nn.modules.dropout._DropoutNd) or type(module).__name__ == "StochasticDepth":
            module.p = 0.0
    return model.train()


def make(name):
    """The network's description and its model, with the same weights in every process."""
    network = find(name)
    torch.manual_seed(0)
    return network, without_dropout(network.make())
