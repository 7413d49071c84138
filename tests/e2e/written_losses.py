"""Losses as their authors write them in PyTorch, inside the module: exported, trained for one step, compared with
PyTorch.

    written_losses.py list                          the names
    written_losses.py export EXPORTER NAMES…        NAME.onnx, and data: NAME.<input>.npy
    written_losses.py inputs NAME                   the files, as --data takes them
    written_losses.py check NAME TRAINER            loss and every gradient of one step; prints the largest distance

Each loss is a module whose forward takes all of its inputs, including targets, and returns the loss.
"""
import copy
import inspect
import json
import os
import subprocess
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

BATCH = 8
GRADIENT_LR = 2.0**40  # a power of two keeps the bits of a gradient


class Loss(nn.Module):
    def __init__(self, inside=6, outside=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inside, 16), nn.Tanh(), nn.Linear(16, outside))


def floats(*shape):
    return torch.randn(BATCH, *shape)


def classes(count, *shape):
    return torch.randint(0, count, (BATCH, *shape))


def with_holes(labels, of=0.4, hole=-100):
    return torch.where(torch.rand(labels.shape) < of, torch.tensor(hole), labels)


class smoothed(Loss):
    def forward(self, x, y):
        return F.cross_entropy(self.net(x), y, label_smoothing=0.1)

    def data(self):
        return floats(6), classes(4)


class weighted(Loss):
    def __init__(self):
        super().__init__()
        self.register_buffer("by_class", torch.tensor([0.5, 1.0, 2.0, 4.0]))

    def forward(self, x, y):
        return F.cross_entropy(self.net(x), y, weight=self.by_class)

    def data(self):
        return floats(6), with_holes(classes(4))


class probabilities(weighted):
    """Labels that are probabilities, as in mixup."""

    def forward(self, x, y):
        return F.cross_entropy(self.net(x), y.softmax(1)) + F.cross_entropy(self.net(x), y.softmax(1),
                                                                            weight=self.by_class)

    def data(self):
        return floats(6), floats(4)


class weighted_smoothed(weighted):
    def forward(self, x, y):
        return F.cross_entropy(self.net(x), y, weight=self.by_class, label_smoothing=0.2, ignore_index=1)

    def data(self):
        return floats(6), classes(4)


class smoothed_probabilities(weighted):
    def forward(self, x, y):
        return F.cross_entropy(self.net(x), y.softmax(1), weight=self.by_class, label_smoothing=0.2)

    def data(self):
        return floats(6), floats(4)


class summed(Loss):
    def forward(self, x, y):
        return F.cross_entropy(self.net(x), y, reduction="sum") / x.shape[0]

    def data(self):
        return floats(6), classes(4)


class per_sample(Loss):
    """Weighted samples."""

    def forward(self, x, y, w):
        return (F.cross_entropy(self.net(x), y, reduction="none") * w).mean()

    def data(self):
        return floats(6), classes(4), torch.rand(BATCH)


class Tokens(nn.Module):
    def __init__(self, vocabulary=11):
        super().__init__()
        self.table = nn.Embedding(vocabulary, 8)
        self.net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, vocabulary))
        self.vocabulary = vocabulary


class causal(Tokens):
    """As transformers wrote it until 4.45."""

    def forward(self, ids, labels):
        logits = self.net(self.table(ids))
        shifted, of_next = logits[..., :-1, :].contiguous(), labels[..., 1:].contiguous()
        return nn.CrossEntropyLoss()(shifted.view(-1, self.vocabulary), of_next.view(-1))

    def data(self):
        ids = classes(11, 5)
        return ids, with_holes(ids)


class causal_padded(Tokens):
    """As transformers writes it now: loss_utils.ForCausalLMLoss."""

    def forward(self, ids, labels):
        logits = self.net(self.table(ids)).float()
        labels = F.pad(labels, (0, 1), value=-100)
        of_next = labels[..., 1:].contiguous()
        return F.cross_entropy(logits.view(-1, self.vocabulary), of_next.view(-1), ignore_index=-100, reduction="mean")

    def data(self):
        ids = classes(11, 5)
        return ids, with_holes(ids)


class masked_lm(Tokens):
    def forward(self, ids, labels):
        logits = self.net(self.table(ids))
        return nn.CrossEntropyLoss()(logits.view(-1, self.vocabulary), labels.view(-1))

    def data(self):
        ids = classes(11, 5)
        return ids, with_holes(ids, 0.8)


class masked_inside(Tokens):
    """Labels that the model computes: only masked positions count."""

    def forward(self, ids, labels):
        logits = self.net(self.table(ids))
        wanted = torch.where(ids == 3, labels, torch.full_like(labels, -100))
        return F.cross_entropy(logits.view(-1, self.vocabulary), wanted.view(-1))

    def data(self):
        return classes(5, 7), classes(11, 7)


class across_samples(weighted):
    """Each sample attends to all: the model is compiled for one number of samples, and its labels are part of it."""

    def forward(self, x, y):
        return F.cross_entropy(self.net((x @ x.t()).softmax(1) @ x), y, weight=self.by_class)

    def data(self):
        return floats(6), with_holes(classes(4))


class across_samples_shifted(Loss):
    def forward(self, x, y):
        scores = self.net((x[:, 0] @ x[:, 0].t()).softmax(1) @ x[:, 0]).unsqueeze(1) + self.net(x)
        return F.cross_entropy(scores[:, :-1].reshape(-1, 4), y[:, 1:].reshape(-1), ignore_index=-1)

    def data(self):
        return floats(5, 6), with_holes(classes(4, 5), hole=-1)


class focal(Loss):
    def forward(self, x, y):
        entropy = F.cross_entropy(self.net(x), y, reduction="none")
        return ((1 - torch.exp(-entropy)) ** 2 * entropy).mean()

    def data(self):
        return floats(6), classes(4)


class focal_binary(Loss):
    def forward(self, x, t):
        logits = self.net(x)
        p, entropy = torch.sigmoid(logits), F.binary_cross_entropy_with_logits(logits, t, reduction="none")
        of_t = p * t + (1 - p) * (1 - t)
        return ((0.25 * t + 0.75 * (1 - t)) * (1 - of_t) ** 2 * entropy).mean()

    def data(self):
        return floats(6), (torch.rand(BATCH, 4) > 0.5).float()


class huber(Loss):
    def forward(self, x, t):
        return F.huber_loss(self.net(x), t, delta=0.7)

    def data(self):
        return floats(6), floats(4)


class smooth_l1(Loss):
    def forward(self, x, t):
        return F.smooth_l1_loss(self.net(x), t, beta=0.5)

    def data(self):
        return floats(6), floats(4)


class absolute(Loss):
    def forward(self, x, t):
        return F.l1_loss(self.net(x), t)

    def data(self):
        return floats(6), floats(4)


class vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.mean, self.spread = nn.Linear(6, 16), nn.Linear(16, 3), nn.Linear(16, 3)
        self.decoder = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 6))

    def forward(self, x, noise):
        hidden = torch.tanh(self.encoder(x))
        mean, log_variance = self.mean(hidden), self.spread(hidden)
        decoded = self.decoder(mean + torch.exp(0.5 * log_variance) * noise)
        reconstruction = F.mse_loss(decoded, x, reduction="sum")
        return (reconstruction - 0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())) / x.shape[0]

    def data(self):
        return floats(6), floats(3)


class vae_binary(vae):
    def forward(self, x, noise):
        hidden = torch.tanh(self.encoder(x))
        mean, log_variance = self.mean(hidden), self.spread(hidden)
        decoded = torch.sigmoid(self.decoder(mean + torch.exp(0.5 * log_variance) * noise))
        entropy = F.binary_cross_entropy(decoded, x, reduction="sum")
        return entropy + -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())

    def data(self):
        return torch.rand(BATCH, 6), floats(3)


class distillation(Loss):
    def __init__(self):
        super().__init__()
        self.teacher = nn.Linear(6, 4)
        for parameter in self.teacher.parameters():
            parameter.requires_grad = False

    def forward(self, x, y):
        with torch.no_grad():
            taught = self.teacher(x)
        scores, t = self.net(x), 3.0
        soft = F.kl_div(F.log_softmax(scores / t, -1), F.softmax(taught / t, -1), reduction="batchmean") * t * t
        return 0.7 * soft + 0.3 * F.cross_entropy(scores, y)

    def data(self):
        return floats(6), classes(4)


class distillation_from_scores(Loss):
    def forward(self, x, taught):
        return F.kl_div(F.log_softmax(self.net(x) / 2, 1), F.log_softmax(taught / 2, 1), reduction="batchmean",
                        log_target=True) * 4

    def data(self):
        return floats(6), floats(4)


class clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text, self.scale = nn.Linear(6, 5), nn.Linear(4, 5), nn.Parameter(torch.tensor(2.0))

    def forward(self, image, text):
        a, b = F.normalize(self.image(image), dim=-1), F.normalize(self.text(text), dim=-1)
        scores = self.scale.exp() * a @ b.t()
        labels = torch.arange(scores.shape[0], device=scores.device)
        return (F.cross_entropy(scores, labels) + F.cross_entropy(scores.t(), labels)) / 2

    def data(self):
        return floats(6), floats(4)


class info_nce(Loss):
    def forward(self, x, other):
        a, b = F.normalize(self.net(x), dim=1), F.normalize(self.net(other), dim=1)
        return F.cross_entropy(torch.mm(a, b.T) / 0.07, torch.arange(x.size(0)))

    def data(self):
        return floats(6), floats(6)


class triplet(Loss):
    def forward(self, a, p, n):
        return F.triplet_margin_loss(self.net(a), self.net(p), self.net(n), margin=1.0)

    def data(self):
        return floats(6), floats(6), floats(6)


class cosine(Loss):
    def forward(self, a, b, same):
        return F.cosine_embedding_loss(self.net(a), self.net(b), same, margin=0.1)

    def data(self):
        return floats(6), floats(6), torch.where(torch.rand(BATCH) > 0.5, 1.0, -1.0)


class dice(Loss):
    def forward(self, x, t):
        p = torch.sigmoid(self.net(x))
        inside = (p * t).sum(1)
        return (1 - (2 * inside + 1) / (p.sum(1) + t.sum(1) + 1)).mean()

    def data(self):
        return floats(6), (torch.rand(BATCH, 4) > 0.5).float()


class dice_of_batch(Loss):
    """A quotient of two sums over all samples: the batch stays whole."""

    def forward(self, x, t):
        p = torch.sigmoid(self.net(x))
        return 1 - (2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)

    def data(self):
        return floats(6), (torch.rand(BATCH, 4) > 0.5).float()


class dice_of_samples(Loss):
    """As MONAI writes it: the axes are taken out of a tensor."""

    def forward(self, x, t):
        p = torch.sigmoid(self.net(x)).view_as(t)
        axes = torch.arange(2, len(p.shape)).tolist()
        return (1 - (2 * (p * t).sum(dim=axes) + 1) / ((p + t).sum(dim=axes) + 1)).mean()

    def data(self):
        return floats(6), (torch.rand(BATCH, 1, 2, 2) > 0.5).float()


class ctc(nn.Module):
    """Repeated labels, samples of several lengths, one without labels, one without frames, one with too few frames."""

    def __init__(self):
        super().__init__()
        self.frames = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))

    def forward(self, x, y, frames, labels):
        scores = self.frames(x).log_softmax(-1).transpose(0, 1)
        return F.ctc_loss(scores, y, frames, labels, blank=1, zero_infinity=True)

    def data(self):
        labels = torch.tensor([3, 3, 2, 0, 3, 1, 3, 2])
        y = torch.where(torch.arange(3) < labels[:, None], torch.tensor([0, 2, 3])[classes(3, 3)], -100)
        y[0] = 2  # repeated
        return floats(7, 6), y, torch.tensor([7, 7, 5, 6, 2, 0, 6, 3]), labels


class ctc_sum(ctc):
    def forward(self, x, y, frames, labels):
        scores = self.frames(x).log_softmax(-1).transpose(0, 1)
        return F.ctc_loss(scores, y.clamp(min=0), frames.clamp(min=7), labels, blank=1, reduction="sum")


class batch_hard(Loss):
    """The hardest triplets of the batch. Some samples are alone in their class: their positive is themselves."""

    def forward(self, x, y):
        apart = torch.cdist(self.net(x), self.net(x))
        same = y[:, None] == y[None]
        positive = torch.where(same, apart, torch.zeros_like(apart)).max(1).values
        negative = torch.where(same, torch.full_like(apart, 1e6), apart).min(1).values
        return F.softplus(positive - negative).mean()

    def data(self):
        return floats(6), torch.tensor([0, 1, 2, 2, 3, 3, 3, 4])


class rms_normalized(Loss):
    def __init__(self):
        super().__init__()
        self.rows, self.planes = nn.RMSNorm(6, eps=0.1), nn.RMSNorm((3, 2), elementwise_affine=False)

    def forward(self, x, y):
        return F.cross_entropy(self.net(self.planes(self.rows(x).view(-1, 3, 2)).flatten(1)), y)

    def data(self):
        return floats(6), classes(4)


class embedding_bags(nn.Module):
    """As in DLRM: a bag of ids for each sample and table."""

    def __init__(self):
        super().__init__()
        bag = nn.EmbeddingBag
        self.sums, self.means, self.most = bag(9, 4, mode="sum"), bag(9, 4), bag(9, 4, mode="max")
        self.padded, self.padded_means = bag(9, 4, mode="sum", padding_idx=1), bag(9, 4, padding_idx=-1)
        self.top = nn.Linear(4 * 6, 3)

    def forward(self, ids, weights, y):
        bags = [layer(ids) for layer in (self.sums, self.means, self.most, self.padded, self.padded_means)]
        return F.cross_entropy(self.top(torch.cat([*bags, self.sums(ids, per_sample_weights=weights)], 1)), y)

    def data(self):
        ids = classes(9, 5)
        ids[0], ids[1] = 8, 1  # nothing but padding
        return ids, torch.rand(BATCH, 5), classes(3)


class named_as_values(nn.Module):
    """Dynamo's exporter names values after their operations: t, mul and mean too. A buffer has the name of an input."""

    def __init__(self):
        super().__init__()
        self.t, self.mul = nn.Parameter(torch.randn(4, 6)), nn.Parameter(torch.rand(4) + 0.5)
        self.register_buffer("mean", torch.randn(4))
        self.register_buffer("y", torch.rand(4) + 0.5)

    def forward(self, x, y):
        return ((x @ self.t.t() * self.mul - self.mean) * 0.5 - y * self.y).square().mean()

    def data(self):
        return floats(6), floats(4)


class distributions(Loss):
    """A Gaussian policy, a categorical one, and the divergence of a variational autoencoder."""

    def forward(self, x, action, choice):
        mean, log_scale = self.net(x).chunk(2, 1)
        normal = torch.distributions.Normal(mean, log_scale.exp())
        options = torch.distributions.Categorical(logits=self.net(x))
        prior = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
        divergence = torch.distributions.kl_divergence(normal, prior).sum(1).mean()
        return divergence - normal.log_prob(action).mean() - options.log_prob(choice).mean() - options.entropy().mean()

    def data(self):
        return floats(6), floats(2), classes(4)


class gaussian_below_eps(Loss):
    """Some variances are below eps."""

    def forward(self, x, y):
        mean, variance = self.net(x).chunk(2, 1)
        return F.gaussian_nll_loss(mean, y, variance.square(), full=True, eps=0.02)

    def data(self):
        return floats(6), floats(2)


class physics(Loss):
    """The residual of an equation that contains the network's derivatives."""

    def __init__(self):
        super().__init__(inside=2, outside=1)

    def forward(self, x, y):
        value, along = torch.func.jvp(self.net, (x,), (torch.ones_like(x),))
        return (along + value.square()).square().mean() + F.mse_loss(value, y)

    def data(self):
        return floats(2), floats(1)


class bce_pos_weight(Loss):
    def __init__(self):
        super().__init__()
        self.register_buffer("positive", torch.tensor([1.0, 2.0, 3.0, 0.5]))

    def forward(self, x, t):
        return F.binary_cross_entropy_with_logits(self.net(x), t, pos_weight=self.positive)

    def data(self):
        return floats(6), (torch.rand(BATCH, 4) > 0.5).float()


class hinge(Loss):
    def forward(self, x, side):
        return torch.clamp(1 - side * self.net(x), min=0).mean()

    def data(self):
        return floats(6), torch.where(torch.rand(BATCH, 4) > 0.5, 1.0, -1.0)


class multi_margin(Loss):
    """Weston and Watkins, written out."""

    def forward(self, x, y):
        scores = self.net(x)
        right = scores.gather(1, y.unsqueeze(1))
        margins = F.relu(scores - right + 1.0)
        return (margins.sum(1) - 1.0).mean()

    def data(self):
        return floats(6), classes(4)


class sum_by_samples(Loss):
    def forward(self, x, t):
        return ((self.net(x) - t) ** 2).sum() / x.shape[0]

    def data(self):
        return floats(6), floats(4)


class two_tasks(Loss):
    def __init__(self):
        super().__init__()
        self.other = nn.Linear(4, 3)

    def forward(self, x, y, z, t):
        scores = self.net(x)
        return F.cross_entropy(
            scores, y) + 0.5 * F.cross_entropy(self.other(torch.tanh(scores)), z) + 0.1 * F.mse_loss(scores, t)

    def data(self):
        return floats(6), with_holes(classes(4)), with_holes(classes(3), hole=-100), floats(4)


class uncertainty(Loss):
    """Kendall and Gal: the weights of the tasks are trained."""

    def __init__(self):
        super().__init__()
        self.spread = nn.Parameter(torch.tensor([0.1, -0.3]))

    def forward(self, x, y, t):
        scores = self.net(x)
        both = torch.stack([F.cross_entropy(scores, y), F.mse_loss(scores, t)])
        return (torch.exp(-self.spread) * both + self.spread).sum()

    def data(self):
        return floats(6), classes(4), floats(4)


class auxiliary(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.body = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.head, self.aux = nn.Conv2d(4, 3, 1), nn.Conv2d(4, 3, 1)

    def forward(self, x, y):
        low = torch.tanh(self.stem(x))
        main, aux = self.head(torch.tanh(self.body(low))), self.aux(low)
        return F.cross_entropy(main, y, ignore_index=255) + 0.4 * F.cross_entropy(aux, y, ignore_index=255)

    def data(self):
        return floats(2, 5, 5), with_holes(classes(3, 5, 5), hole=255)


class gan_discriminator(Loss):
    def forward(self, real, fake):
        return F.relu(1 - self.net(real)).mean() + F.relu(1 + self.net(fake.detach())).mean()

    def data(self):
        return floats(6), floats(6)


class gan_generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator, self.judge = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 6)), nn.Linear(6, 1)
        for parameter in self.judge.parameters():
            parameter.requires_grad = False

    def forward(self, noise):
        return -self.judge(self.generator(noise)).mean()

    def data(self):
        return (floats(3),)


class quantile(Loss):
    def forward(self, x, t):
        off = t - self.net(x)
        return torch.max(0.9 * off, (0.9 - 1) * off).mean()

    def data(self):
        return floats(6), floats(4)


class gaussian(Loss):
    """The likelihood of a mean and a variance."""

    def forward(self, x, t):
        mean, log_variance = self.net(x).chunk(2, dim=1)
        return F.gaussian_nll_loss(mean, t, log_variance.exp())

    def data(self):
        return floats(6), floats(2)


class gaussian_of_samples(Loss):
    """One variance for each sample. Some are below eps, and still have a gradient."""

    def forward(self, x, t):
        mean, log_variance = self.net(x).chunk(2, dim=1)
        return F.gaussian_nll_loss(mean, t, log_variance.exp().mean(dim=1), full=True, eps=1.0)

    def data(self):
        return floats(6), floats(2)


class poisson(Loss):
    def forward(self, x, t):
        return F.poisson_nll_loss(self.net(x), t)

    def data(self):
        return floats(6), torch.randint(0, 5, (BATCH, 4)).float()


class masked_mse(Loss):
    """Divided by a count: the batch stays whole."""

    def forward(self, x, t, mask):
        return (((self.net(x) - t) ** 2) * mask).sum() / mask.sum()

    def data(self):
        return floats(6), floats(4), (torch.rand(BATCH, 4) > 0.4).float()


class barlow(Loss):
    """The correlation of features over the batch."""

    def forward(self, x, other):
        a, b = self.net(x), self.net(other)
        a, b = (a - a.mean(0)) / a.std(0), (b - b.mean(0)) / b.std(0)
        c = (a.T @ b) / x.shape[0]
        on = (torch.diagonal(c) - 1).pow(2).sum()
        return on + 0.005 * (c.pow(2).sum() - torch.diagonal(c).pow(2).sum())

    def data(self):
        return floats(6), floats(6)


class ranking(Loss):
    def forward(self, a, b, sign):
        return F.margin_ranking_loss(self.net(a)[:, 0], self.net(b)[:, 0], sign, margin=0.2)

    def data(self):
        return floats(6), floats(6), torch.where(torch.rand(BATCH) > 0.5, 1.0, -1.0)


ALL = {name: kind for name, kind in list(globals().items())
       if inspect.isclass(kind) and issubclass(kind, nn.Module) and hasattr(kind, "data")}


def made(name):
    torch.manual_seed(len(name))
    model = ALL[name]().train()
    return model, model.data()


def names_of(model):
    return list(inspect.signature(model.forward).parameters)


def export(exporter, name):
    model, data = made(name)
    inputs = names_of(model)
    path = name + ".onnx"
    if exporter == "dynamo":
        shapes = tuple({0: torch.export.Dim("n", min=2, max=4096)} for _ in data)
        torch.onnx.export(model, data, path, input_names=inputs, output_names=["loss"], dynamo=True,
                          external_data=False, dynamic_shapes=shapes, optimize=False, verbose=False)
    elif exporter.startswith("plimsoll"):
        import plimsoll
        plimsoll.export(model, data, path, exporter="torchscript" if exporter == "plimsoll_torchscript" else None)
    else:
        torch.onnx.export(model, data, path, input_names=inputs, output_names=["loss"], dynamo=False, opset_version=17,
                          training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                          dynamic_axes={i: {0: "n"} for i in inputs})
    for i, tensor in zip(inputs, data):
        np.save(f"{name}.{i}.npy", tensor.numpy())


def stepped(model, data):
    loss = model(*data)
    loss.backward()
    return float(loss.detach()), {k: p.grad.double().numpy() for k, p in model.named_parameters() if p.grad is not None}


def check(name, trainer):
    model, data = made(name)
    loss, single = stepped(copy.deepcopy(model), data)
    doubles = tuple(t.double() if t.is_floating_point() else t for t in data)
    _, double = stepped(copy.deepcopy(model).double(), doubles)
    files = ",".join(f"{name}.{i}.npy" for i in names_of(model))
    after = os.path.join(trainer, "after.safetensors.onnx")
    command = [
        os.path.join(trainer, "build", "train"), "--data", "npy:" + files, "--no-shuffle", "--quiet", "--steps", "1",
        "--lr",
        str(GRADIENT_LR), "--metrics", trainer + ".jsonl", "--save", after, "--on-nan", "ignore"
    ]
    if os.path.exists(trainer + ".jsonl"):
        os.remove(trainer + ".jsonl")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{name}: exit {done.returncode}: {done.stdout}{done.stderr}")
    ours = json.loads(open(trainer + ".jsonl").read().splitlines()[0])["loss"]
    import onnx
    from onnx import numpy_helper
    trained = {t.name: numpy_helper.to_array(t) for t in onnx.load(after).graph.initializer}
    worst, where = abs(ours - loss) / max(1e-3, abs(loss)), "loss"
    scale = max(np.abs(g).max() for g in single.values())
    for key, wanted in single.items():
        before = dict(model.named_parameters())[key].detach().double().numpy()
        found = [v for k, v in trained.items() if k == key or k.endswith("." + key)]
        if not found:  # TorchScript's exporter transposed it: found by its gradient
            shaped = [v.T for v in trained.values() if v.ndim == 2 and v.T.shape == before.shape] + \
                     [v for k, v in trained.items() if v.shape == before.shape]
            found = sorted(shaped, key=lambda v: np.abs((before - v) / GRADIENT_LR - wanted).max())[:1]
        if not found:
            sys.exit(f"{name}: no weight '{key}' in {sorted(trained)}")
        gradient = (before - found[0].astype(np.float64)) / GRADIENT_LR
        own = np.abs(wanted - double[key]).max()
        off = max(0.0, np.abs(gradient - double[key]).max() - 10 * own) / max(np.abs(wanted).max(), 1e-6 * scale)
        if off > worst:
            worst, where = off, key
    print(f"{name}: {worst:.2g} ({where})")
    if worst > 1e-4:
        sys.exit(f"{name}: {worst:.3g} off at {where}; loss {ours} when PyTorch has {loss}")


if __name__ == "__main__":
    command, arguments = sys.argv[1], sys.argv[2:]
    if command == "list":
        print(" ".join(ALL))
    elif command == "export":
        for name in arguments[1:]:
            try:
                export(arguments[0], name)
            except Exception as error:  # noqa: BLE001: report what an exporter refuses, and continue with the others
                print(f"{name}: {arguments[0]} refuses: {str(error).strip().splitlines()[0]}")
    elif command == "inputs":
        print(",".join(f"{arguments[0]}.{i}.npy" for i in names_of(ALL[arguments[0]]())))
    else:
        check(*arguments)
