"""Models for tabular data, recommendation and metric learning."""

from other_models.registry import first, kind


# Tabular data and recommendation.

@kind("tabular")
def ft_transformer(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.randn(5, 16)), nn.Parameter(torch.zeros(5, 16))
            self.embed = nn.ModuleList(nn.Embedding(n, 16) for n in (4, 7, 9))
            self.cls = nn.Parameter(torch.randn(16))
            layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True, activation="gelu")
            self.encoder, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(16, 1)

        def forward(self, x, c):
            numbers = x[..., None] * self.weight + self.bias
            classes = torch.stack([table(c[:, i]) for i, table in enumerate(self.embed)], 1)
            tokens = torch.cat([self.cls.expand(x.shape[0], 1, -1), numbers, classes], 1)
            return self.head(self.encoder(tokens)[:, 0])
    return Model(), {"x": torch.randn(batch, 5), "c": torch.randint(0, 4, (batch, 3))}


@kind("tabular")
def dlrm(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.bottom = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
            self.tables = nn.ModuleList(nn.Embedding(20, 8) for _ in range(3))
            self.top = nn.Sequential(nn.Linear(8 + 6, 16), nn.ReLU(), nn.Linear(16, 1))

        def forward(self, x, c):
            d = self.bottom(x)
            all = torch.stack([d] + [table(c[:, i]) for i, table in enumerate(self.tables)], 1)
            products = torch.bmm(all, all.transpose(1, 2))
            i, j = torch.tril_indices(4, 4, -1)
            return self.top(torch.cat([d, products[:, i, j]], 1))
    return Model(), {"x": torch.randn(batch, 5), "c": torch.randint(0, 20, (batch, 3))}


@kind("tabular")
def deepfm(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.first, self.offsets = nn.Embedding(30, 8), nn.Embedding(30, 1), torch.tensor([0, 10, 20])
            self.deep = nn.Sequential(nn.Linear(24, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2),
                                      nn.Linear(16, 1))

        def forward(self, c):
            c = c + self.offsets
            v = self.table(c)
            fm = ((v.sum(1) ** 2 - (v**2).sum(1)) / 2).sum(1, keepdim=True)
            return self.first(c).sum(1) + fm + self.deep(v.flatten(1))
    return Model(), {"c": torch.randint(0, 10, (batch, 3))}


@kind("tabular")
def embedding_bag(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.bag, self.head = nn.EmbeddingBag(50, 16, mode="mean"), nn.Linear(16, 3)

        def forward(self, c):
            return self.head(self.bag(c))
    return Model(), {"c": torch.randint(0, 50, (batch, 6))}


@kind("tabular")
def tabnet_like(torch, batch):
    nn = torch.nn

    def sparsemax(z):
        sorted_, _ = torch.sort(z, dim=-1, descending=True)
        k = torch.arange(1, z.shape[-1] + 1, dtype=z.dtype)
        sums = sorted_.cumsum(-1)
        support = (1 + k * sorted_ > sums)
        size = support.sum(-1, keepdim=True)
        tau = (sums.gather(-1, size - 1) - 1) / size
        return torch.clamp(z - tau, min=0)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.mask, self.body, self.head = nn.BatchNorm1d(8), nn.Linear(8, 8), nn.Linear(8,
                                                                                                       32), nn.Linear(
                                                                                                           16, 1)

        def forward(self, x):
            x = self.norm(x)
            return self.head(nn.functional.glu(self.body(x * sparsemax(self.mask(x)))))
    return Model(), {"x": torch.randn(batch, 8)}


@kind("tabular")
def ncf(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.u, self.i, self.um, self.im = (nn.Embedding(n, 8) for n in (20, 30, 20, 30))
            self.mlp, self.head = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 8),
                                                nn.ReLU()), nn.Linear(16, 1)

        def forward(self, user, item):
            return self.head(
                torch.cat([self.u(user) * self.i(item),
                           self.mlp(torch.cat([self.um(user), self.im(item)], -1))], -1)).squeeze(-1)
    return Model(), {"user": torch.randint(0, 20, (batch,)), "item": torch.randint(0, 30, (batch,))}


@kind("tabular", "--class-axis", "-1")
def sasrec(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.item, self.position = nn.Embedding(40, 16, padding_idx=0), nn.Embedding(12, 16)
            self.attention, self.norm = nn.MultiheadAttention(16, 2, batch_first=True), nn.LayerNorm(16)

        def forward(self, c):
            x = self.item(c) * 4 + self.position(torch.arange(c.shape[1]))
            causal = torch.ones(c.shape[1], c.shape[1], dtype=torch.bool).triu(1)
            x = self.norm(x + self.attention(x, x, x, attn_mask=causal, need_weights=False)[0]) * (c != 0)[..., None]
            return x @ self.item.weight.T
    return Model(), {"c": torch.randint(1, 40, (batch, 12))}


# Metric learning, several inputs.

@kind("metric")
def siamese(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(392, 16))

        def forward(self, a, b):
            return nn.functional.pairwise_distance(nn.functional.normalize(self.net(a)),
                                                   nn.functional.normalize(self.net(b)))
    return Model(), {"a": torch.randn(batch, 3, 16, 16), "b": torch.randn(batch, 3, 16, 16)}


@kind("metric", "--loss", "output")
def clip_loss(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.scale = nn.Linear(12, 16), nn.Linear(20, 16), nn.Parameter(torch.tensor(2.6))

        def forward(self, a, b):
            a, b = nn.functional.normalize(self.a(a), dim=-1), nn.functional.normalize(self.b(b), dim=-1)
            scores = self.scale.exp() * a @ b.T
            labels = torch.arange(scores.shape[0])
            return (nn.functional.cross_entropy(scores, labels) + nn.functional.cross_entropy(scores.T, labels)) / 2
    return Model(), {"a": torch.randn(batch, 12), "b": torch.randn(batch, 20)}


@kind("metric", "--loss", "output")
def triplet(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 8))

        def forward(self, a, p, n):
            return nn.functional.triplet_margin_loss(self.net(a), self.net(p), self.net(n), margin=1.0)
    return Model(), {name: torch.randn(batch, 12) for name in "apn"}


@kind("metric", "--loss", "softmax-cross-entropy")
def arcface(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.weight = nn.Linear(12, 16), nn.Parameter(torch.randn(10, 16))

        def forward(self, x, y):
            cosine = nn.functional.linear(nn.functional.normalize(self.net(x)),
                                          nn.functional.normalize(self.weight)).clamp(-0.999, 0.999)
            sine = torch.sqrt(1 - cosine.square())
            margin = cosine * 0.8776 - sine * 0.4794
            return 16 * torch.where(nn.functional.one_hot(y, 10).bool(), margin, cosine)
    return Model(), {"x": torch.randn(batch, 12), "y": torch.randint(0, 10, (batch,))}


@kind("metric", "--loss", "output")
def barlow_twins(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.norm = nn.Sequential(nn.Linear(12, 16), nn.BatchNorm1d(16), nn.ReLU(),
                                                nn.Linear(16, 8)), nn.BatchNorm1d(8, affine=False)

        def forward(self, a, b):
            c = self.norm(self.net(a)).T @ self.norm(self.net(b)) / a.shape[0]
            on = (torch.diagonal(c) - 1).square().sum()
            off = c.square().sum() - torch.diagonal(c).square().sum()
            return on + 0.005 * off
    return Model(), {"a": torch.randn(batch, 12), "b": torch.randn(batch, 12)}
