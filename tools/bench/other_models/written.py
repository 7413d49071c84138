"""Losses and layers as people write them by hand, in the ways that differ from a library's.

The losses are models of two inputs whose output is the loss: `--loss output` trains them."""

from other_models.registry import kind


def loss(function):
    """Registers a loss of scores or embeddings, f(torch, y, t): y is a small network of x, t the target."""
    targets = function.__defaults__[0] if function.__defaults__ else None

    def made(torch, batch):
        nn = torch.nn

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 8))

            def forward(self, x, t):
                return function(torch, self.net(x), t)
        target = torch.randn(batch, 8) if targets is None else targets(torch, batch)
        return Model(), {"x": torch.randn(batch, 12), "t": target}
    made.__name__ = function.__name__
    return kind("written", "--loss", "output")(made)


def classes(torch, batch):
    return torch.randint(0, 8, (batch,))


def pairs(torch, batch):
    return torch.arange(batch) // 2


def rates(torch, batch):
    return torch.rand(batch, 8)


def signs(torch, batch):
    return torch.randint(0, 2, (batch, 8)).float() * 2 - 1


@loss
def sum_over_shape(torch, y, t):
    return ((y - t) ** 2).sum() / y.shape[0]


@loss
def sum_over_size(torch, y, t):
    return (y - t).abs().sum() / t.size(0) / 2


@loss
def sums_over_len(torch, y, t):
    return (((y - t) ** 2).sum() + 0.1 * (y ** 2).sum()) / len(y)


@loss
def mean_of_norms(torch, y, t):
    return torch.linalg.vector_norm(y - t, dim=1).mean()


@loss
def charbonnier(torch, y, t):
    return torch.sqrt((y - t) ** 2 + 1e-3).mean()


@loss
def log_cosh(torch, y, t):
    return torch.log(torch.cosh(y - t)).mean()


@loss
def quantiles(torch, y, t):
    error = t - y
    return torch.max(0.9 * error, (0.9 - 1) * error).mean()


@loss
def wing(torch, y, t):
    error = (y - t).abs()
    return torch.where(error < 1, 2 * torch.log(1 + error / 0.5), error - (1 - 2 * 1.0986123)).mean()


@loss
def huber_by_hand(torch, y, t):
    error = (y - t).abs()
    quadratic = torch.clamp(error, max=1.0)
    return (0.5 * quadratic ** 2 + (error - quadratic)).mean()


@loss
def smooth_l1(torch, y, t):
    return torch.nn.functional.smooth_l1_loss(y, t, beta=0.5)


@loss
def gaussian_nll(torch, y, t):
    mean, variance = y[:, :4], torch.nn.functional.softplus(y[:, 4:])
    return torch.nn.functional.gaussian_nll_loss(mean, t[:, :4], variance)


@loss
def poisson_nll(torch, y, t=rates):
    return torch.nn.functional.poisson_nll_loss(y, t)


@loss
def kl_of_teacher(torch, y, t):
    log, teacher = torch.log_softmax(y / 2, 1), torch.softmax(t / 2, 1)
    return torch.nn.functional.kl_div(log, teacher, reduction="batchmean") * 4


@loss
def smoothed_by_hand(torch, y, t=classes):
    log = torch.log_softmax(y, -1)
    picked = -log.gather(1, t[:, None]).squeeze(1)
    return (0.9 * picked + 0.1 * -log.mean(-1)).mean()


@loss
def focal(torch, y, t=classes):
    each = torch.nn.functional.cross_entropy(y, t, reduction="none")
    return ((1 - torch.exp(-each)) ** 2 * each).mean()


@loss
def poly(torch, y, t=classes):
    each = torch.nn.functional.cross_entropy(y, t, reduction="none")
    return (each + 1 - torch.softmax(y, 1)[torch.arange(y.shape[0]), t]).mean()


@loss
def binary_with_pos_weight(torch, y, t=rates):
    return torch.nn.functional.binary_cross_entropy_with_logits(y, t, pos_weight=torch.full((8,), 2.0))


@loss
def asymmetric(torch, y, t=rates):
    p = torch.sigmoid(y)
    return -(t * torch.log(p.clamp(min=1e-8)) + (1 - t) * p ** 2 * torch.log((1 - p + 0.05).clamp(max=1))).sum(1).mean()


@loss
def dice(torch, y, t=rates):
    p = torch.sigmoid(y)
    return 1 - (2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)


@loss
def tversky_of_each(torch, y, t=rates):
    p = torch.sigmoid(y)
    hit, wrong, missed = (p * t).sum(1), (p * (1 - t)).sum(1), ((1 - p) * t).sum(1)
    return (1 - (hit + 1) / (hit + 0.3 * wrong + 0.7 * missed + 1)).mean()


@loss
def hinge(torch, y, t=signs):
    return torch.relu(1 - t * y).mean()


@loss
def squared_hinge(torch, y, t=signs):
    return (torch.clamp(1 - t * y, min=0) ** 2).mean()


@loss
def multi_margin(torch, y, t=classes):
    right = y.gather(1, t.unsqueeze(1))
    margins = (1 - right + y).clamp(min=0)
    return (margins.sum(1) - 1).mean() / y.shape[1]


@loss
def ordinal(torch, y, t=classes):
    levels = (t[:, None] > torch.arange(7)[None]).float()
    logits = y[:, :1] + torch.linspace(-1, 1, 7)[None]
    return -(torch.nn.functional.logsigmoid(logits) * levels + (torch.nn.functional.logsigmoid(logits) - logits) *
             (1 - levels)).sum(1).mean()


@loss
def mixture_density(torch, y, t):
    log = torch.log_softmax(y[:, :4], 1)
    return -torch.logsumexp(log - 0.5 * (t[:, :1] - y[:, 4:]) ** 2, 1).mean()


@loss
def cosine_to_target(torch, y, t):
    return (1 - torch.nn.functional.cosine_similarity(y, t)).mean()


@loss
def variational(torch, y, t):
    mean, log_variance = y[:, :4], y[:, 4:]
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return (torch.nn.functional.mse_loss(mean, t[:, :4], reduction="sum") + divergence) / y.size(0)


@loss
def contrastive_in_batch(torch, y, t):
    a, b = torch.nn.functional.normalize(y), torch.nn.functional.normalize(t)
    scores = a @ b.t() / 0.1
    return torch.nn.functional.cross_entropy(scores, torch.arange(y.shape[0]))


@loss
def supervised_contrastive(torch, y, t=pairs):
    z = torch.nn.functional.normalize(y)
    scores = z @ z.t() / 0.2
    other = 1 - torch.eye(y.shape[0])
    same = (t[:, None] == t[None]).float() * other
    log = scores - torch.log((torch.exp(scores) * other).sum(1, keepdim=True))
    return -((log * same).sum(1) / same.sum(1)).mean()


@loss
def batch_hard(torch, y, t=pairs):
    distance = torch.sqrt(((y[:, None] - y[None]) ** 2).sum(-1) + 1e-9)
    same = t[:, None] == t[None]
    far = torch.where(same, distance, torch.full_like(distance, -1e9)).max(1)[0]
    near = torch.where(same, torch.full_like(distance, 1e9), distance).min(1)[0]
    return torch.relu(far - near + 1).mean()


@loss
def barlow_twins(torch, y, t):
    a, b = (y - y.mean(0)) / y.std(0), (t - t.mean(0)) / t.std(0)
    c = a.T @ b / y.shape[0]
    on, off = torch.diagonal(c), c * (1 - torch.eye(8))
    return ((on - 1) ** 2).sum() + 0.005 * (off ** 2).sum()


@loss
def variance_and_covariance(torch, y, t):
    centred = y - y.mean(dim=0)
    deviation = torch.sqrt(centred.var(dim=0) + 1e-4)
    covariance = centred.T @ centred / (y.shape[0] - 1)
    return torch.nn.functional.mse_loss(y, t) + torch.relu(1 - deviation).mean() + (covariance *
                                                                                    (1 - torch.eye(8))).pow(2).sum() / 8


@loss
def list_rank(torch, y, t):
    return -(torch.softmax(t, 1) * torch.log_softmax(y, 1)).sum(1).mean()


@loss
def pairwise_rank(torch, y, t):
    difference = y[:, :, None] - y[:, None, :]
    better = (t[:, :, None] > t[:, None, :]).float()
    return (torch.nn.functional.softplus(-difference) * better).sum() / better.sum()


@loss
def survival(torch, y, t=rates):
    at_risk = torch.cumsum(torch.exp(y), dim=1)
    return ((torch.log(at_risk) - y) * (t > 0.5).float()).sum() / (t > 0.5).float().sum()


# Layers.

def image_classifier(layer):
    """A small network of images around a layer of 8 channels."""
    def made(torch, batch):
        nn = torch.nn
        return (nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), layer(torch), nn.Flatten(1), nn.LazyLinear(10)),
                {"x": torch.randn(batch, 3, 16, 16)})

    def initialised(torch, batch):
        model, inputs = made(torch, batch)
        model(inputs["x"])
        return model, inputs
    initialised.__name__ = layer.__name__
    return kind("written", "--loss", "softmax-cross-entropy")(initialised)


@image_classifier
def generalized_mean(torch):
    class GeM(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.p = torch.nn.Parameter(torch.ones(1) * 3)

        def forward(self, x):
            return torch.nn.functional.avg_pool2d(x.clamp(min=1e-6).pow(self.p),
                                                  (x.size(-2), x.size(-1))).pow(1.0 / self.p)
    return GeM()


@image_classifier
def learned_clipping(torch):
    class Pact(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.alpha = torch.nn.Parameter(torch.tensor(0.5))

        def forward(self, x):
            return torch.clamp(x, torch.tensor(0.0), self.alpha)
    return Pact()


@image_classifier
def learned_power(torch):
    class Power(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.power = torch.nn.Parameter(torch.full((8, 1, 1), 0.7))

        def forward(self, x):
            return torch.sign(x) * (x.abs() + 1e-3) ** self.power
    return Power()


@image_classifier
def response_norm(torch):
    class Global(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gamma, self.beta = (torch.nn.Parameter(torch.zeros(1, 8, 1, 1)) for _ in range(2))

        def forward(self, x):
            norm = torch.norm(x, p=2, dim=(2, 3), keepdim=True)
            return self.gamma * (x * norm / (norm.mean(dim=1, keepdim=True) + 1e-6)) + self.beta + x
    return Global()


@image_classifier
def pixel_norm(torch):
    class Pixel(torch.nn.Module):
        def forward(self, x):
            return x * torch.rsqrt(torch.mean(x ** 2, dim=1, keepdim=True) + 1e-8)
    return Pixel()


@image_classifier
def sine_activation(torch):
    class Siren(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.omega = torch.nn.Parameter(torch.tensor(3.0))

        def forward(self, x):
            return torch.sin(self.omega * x)
    return Siren()


@image_classifier
def snake_activation(torch):
    class Snake(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.alpha = torch.nn.Parameter(torch.ones(8, 1, 1))

        def forward(self, x):
            return x + torch.sin(self.alpha * x) ** 2 / (self.alpha + 1e-6)
    return Snake()


@image_classifier
def straight_through_quantizer(torch):
    class Quantizer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.step = torch.nn.Parameter(torch.tensor(0.1))

        def forward(self, x):
            scaled = torch.clamp(x / self.step, -8, 7)
            return (scaled + (torch.round(scaled) - scaled).detach()) * self.step
    return Quantizer()


@image_classifier
def squeeze_and_excite(torch):
    class Gate(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(8, 4), torch.nn.Linear(4, 8)

        def forward(self, x):
            weight = torch.sigmoid(self.b(torch.relu(self.a(x.mean((2, 3))))))
            return x * weight[:, :, None, None]
    return Gate()


@image_classifier
def coordinates(torch):
    class Coordinates(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(10, 8, 1)

        def forward(self, x):
            n, _, h, w = x.shape
            y = torch.linspace(-1, 1, h).view(1, 1, h, 1).expand(n, 1, h, w)
            z = torch.linspace(-1, 1, w).view(1, 1, 1, w).expand(n, 1, h, w)
            return self.conv(torch.cat([x, y, z], 1))
    return Coordinates()


@image_classifier
def triangle_attention(torch):
    class Causal(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = (torch.nn.Linear(8, 8) for _ in range(3))

        def forward(self, x):
            t = x.flatten(2).transpose(1, 2)[:, :32]
            weights = torch.tril(torch.exp(torch.tanh(self.q(t) @ self.k(t).transpose(1, 2))))
            return weights / weights.sum(-1, keepdim=True) @ self.v(t)
    return Causal()
