"""Models of points, graphs and fields; detection, control, mixtures of experts, computed indices."""

from other_models.registry import image, kind


# Points, graphs, fields.

@kind("points", "--loss", "softmax-cross-entropy")
def pointnet(torch, batch):
    nn = torch.nn

    class Transform(nn.Module):
        def __init__(self, k):
            super().__init__()
            self.k, self.net, self.head = k, nn.Sequential(nn.Conv1d(k, 16, 1), nn.BatchNorm1d(16),
                                                           nn.ReLU()), nn.Linear(16, k * k)

        def forward(self, x):
            y = self.head(self.net(x).max(2)[0]) + torch.eye(self.k).flatten()
            return torch.bmm(y.view(-1, self.k, self.k), x)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.t1, self.body, self.head = Transform(3), nn.Sequential(nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32),
                                                                        nn.ReLU()), nn.Linear(32, 10)

        def forward(self, x):
            return self.head(self.body(self.t1(x)).max(2)[0])
    return Model(), {"x": torch.randn(batch, 3, 32)}


@kind("points", "--loss", "softmax-cross-entropy")
def dgcnn(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.edge, self.head = nn.Sequential(nn.Conv2d(6, 16, 1, bias=False), nn.BatchNorm2d(16),
                                                 nn.LeakyReLU(0.2)), nn.Linear(16, 10)

        def forward(self, x):
            inner = -2 * torch.matmul(x.transpose(2, 1), x)
            squares = (x**2).sum(1, keepdim=True)
            nearest = (-squares - inner - squares.transpose(2, 1)).topk(4, -1)[1]
            features = x.transpose(2, 1)
            neighbours = torch.gather(features[:, :, None].expand(-1, -1, 4, -1), 1,
                                      nearest[..., None].expand(-1, -1, -1, 3))
            middle = features[:, :, None].expand(-1, -1, 4, -1)
            edges = torch.cat([neighbours - middle, middle], 3).permute(0, 3, 1, 2)
            return self.head(self.edge(edges).max(3)[0].max(2)[0])
    return Model(), {"x": torch.randn(batch, 3, 16)}


@kind("points", "--class-axis", "-1")
def gcn_dense(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 4)

        def forward(self, x, adjacency):
            d = adjacency.sum(-1).clamp(min=1).pow(-0.5)
            adjacency = d[:, :, None] * adjacency * d[:, None]
            return self.b(adjacency @ torch.relu(self.a(adjacency @ x)))
    return Model(), {"x": torch.randn(batch, 10, 8), "adjacency": torch.randint(0, 2, (batch, 10, 10)).float()}


@kind("points", "--class-axis", "-1")
def gat_dense(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.left, self.right = nn.Linear(8, 16, bias=False), nn.Linear(16, 1), nn.Linear(16, 1)

        def forward(self, x, adjacency):
            h = self.w(x)
            scores = nn.functional.leaky_relu(self.left(h) + self.right(h).transpose(1, 2), 0.2)
            return torch.softmax(scores.masked_fill(adjacency == 0, -1e9), -1) @ h
    return Model(), {"x": torch.randn(batch, 10, 8), "adjacency": torch.randint(0, 2, (batch, 10, 10))}


@kind("points")
def nerf(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Sequential(nn.Linear(39, 32), nn.ReLU(), nn.Linear(32, 32),
                                           nn.ReLU()), nn.Sequential(nn.Linear(71, 32), nn.ReLU(), nn.Linear(32, 4))

        def forward(self, x):
            parts = [x]
            for i in range(6):
                parts += [torch.sin(2.0**i * x), torch.cos(2.0**i * x)]
            encoded = torch.cat(parts, -1)
            out = self.b(torch.cat([self.a(encoded), encoded], -1))
            color, density = torch.sigmoid(out[..., :3]), torch.relu(out[..., 3])
            alpha = 1 - torch.exp(-density * 0.1)
            through = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], -1), -1)[:, :-1]
            return ((alpha * through)[..., None] * color).sum(1)
    return Model(), {"x": torch.randn(batch, 8, 3)}


@kind("points")
def siren(torch, batch):
    nn = torch.nn

    class Sine(nn.Module):
        def forward(self, x):
            return torch.sin(30 * x)

    return nn.Sequential(nn.Linear(2, 32), Sine(), nn.Linear(32, 32), Sine(),
                         nn.Linear(32, 3)), {"x": torch.randn(batch, 2)}


@kind("points")
def spatial_transformer(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.where, self.net = nn.Sequential(nn.Flatten(), nn.Linear(256, 6)), nn.Conv2d(1, 4, 3)

        def forward(self, x):
            theta = self.where(x).view(-1, 2, 3) * 0.1 + torch.tensor([[1.0, 0, 0], [0, 1, 0]], dtype=x.dtype)
            axis = torch.linspace(-1, 1, 16, dtype=x.dtype)
            ones = torch.ones(16, 16, dtype=x.dtype)
            grid = torch.stack([axis[None].expand(16, 16), axis[:, None].expand(16, 16), ones], -1)
            return self.net(
                nn.functional.grid_sample(x, torch.einsum("hwk,nck->nhwc", grid, theta), align_corners=False))
    return Model(), image(torch, batch, 16, 1)


# Detection, control, experts.

@kind("other")
def yolo_head(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Sequential(nn.Conv2d(3, 16, 3, 4, 1), nn.BatchNorm2d(16), nn.SiLU())
            self.b = nn.Sequential(nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.SiLU())
            self.heads, self.mix = nn.ModuleList((nn.Conv2d(48, 15, 1), nn.Conv2d(32, 15,
                                                                                  1))), nn.Upsample(scale_factor=2)

        def forward(self, x):
            a = self.a(x)
            b = self.b(a)
            outputs = []
            for head, y in zip(self.heads, (torch.cat([a, self.mix(b)], 1), b)):
                n, _, h, w = y.shape
                y = torch.sigmoid(head(y)).view(n, 3, 5, h, w).permute(0, 1, 3, 4, 2)
                rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
                place = (y[..., :2] * 2 - 0.5 + torch.stack([columns, rows], -1)) * (32 / h)
                outputs.append(torch.cat([place, (y[..., 2:4] * 2) ** 2, y[..., 4:]], -1).reshape(n, -1, 5))
            return torch.cat(outputs, 1)
    return Model(), image(torch, batch, 32)


@kind("other")
def dueling_dqn(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(4, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU(),
                                      nn.Flatten())
            self.value, self.advantage = nn.Linear(2592, 1), nn.Linear(2592, 6)

        def forward(self, x, action):
            h = self.body(x / 255)
            advantage = self.advantage(h)
            return (self.value(h) + advantage - advantage.mean(1, keepdim=True)).gather(1, action[:, None]).squeeze(1)
    return Model(), {"x": torch.rand(batch, 4, 84, 84), "action": torch.randint(0, 6, (batch,))}


@kind("other", "--loss", "output")
def ppo(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.policy, self.value = nn.Sequential(nn.Linear(8, 32),
                                                               nn.Tanh()), nn.Linear(32, 4), nn.Linear(32, 1)

        def forward(self, x, action, old, advantage, returns):
            h = self.body(x)
            logs = torch.log_softmax(self.policy(h), -1)
            ratio = torch.exp(logs.gather(1, action[:, None]).squeeze(1) - old)
            gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            entropy = -(logs.exp() * logs).sum(-1).mean()
            return -gain + 0.5 * (self.value(h).squeeze(-1) - returns).square().mean() - 0.01 * entropy

    return Model(), {
        "x": torch.randn(batch, 8), "action": torch.randint(0, 4, (batch,)), "old": -torch.rand(batch),
        "advantage": torch.randn(batch), "returns": torch.randn(batch)
    }


@kind("other")
def experts(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate, self.experts = nn.Linear(16, 4), nn.ModuleList(
                nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)) for _ in range(4))

        def forward(self, x):
            values, which = torch.softmax(self.gate(x), -1).topk(2, -1)
            weights = torch.zeros(x.shape[0], 4, dtype=x.dtype).scatter(1, which, values / values.sum(-1, keepdim=True))
            return (torch.stack([expert(x) for expert in self.experts], 1) * weights[..., None]).sum(1)
    return Model(), {"x": torch.randn(batch, 16)}


@kind("other", "--loss", "softmax-cross-entropy")
def capsules(torch, batch):
    nn = torch.nn

    def squash(v):
        n = v.square().sum(-1, keepdim=True)
        return n / (1 + n) * v / torch.sqrt(n + 1e-8)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.weight = nn.Conv2d(1, 16, 5, 2), nn.Parameter(torch.randn(1, 10, 144, 8, 4) * 0.1)

        def forward(self, x):
            u = squash(torch.relu(self.conv(x)).view(x.shape[0], -1, 4))
            u = (self.weight @ u[:, None, :, :, None]).squeeze(-1)
            b = torch.zeros(x.shape[0], 10, 144, 1)
            for _ in range(2):
                v = squash((torch.softmax(b, 1) * u).sum(2))
                b = b + (u * v[:, :, None]).sum(-1, keepdim=True)
            return v.norm(dim=-1)
    return Model(), image(torch, batch, 16, 1)


@kind("other")
def kan(torch, batch):
    nn = torch.nn

    class Layer(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.base, self.spline = nn.Parameter(torch.randn(b, a) * 0.3), nn.Parameter(torch.randn(b, a, 7) * 0.1)
            self.register_buffer("grid", torch.linspace(-2.2, 2.2, 11).expand(a, 11).contiguous())

        def forward(self, x):
            e, g = x[..., None], self.grid
            bases = ((e >= g[:, :-1]) & (e < g[:, 1:])).to(x.dtype)
            for k in range(1, 4):
                bases = ((e - g[:, :-(k + 1)]) / (g[:, k:-1] - g[:, :-(k + 1)]) * bases[..., :-1]
                         + (g[:, k + 1:] - e) / (g[:, k + 1:] - g[:, 1:-k]) * bases[..., 1:])
            return nn.functional.linear(nn.functional.silu(x), self.base) + nn.functional.linear(
                bases.flatten(1), self.spline.flatten(1))
    return nn.Sequential(Layer(3, 8), Layer(8, 1)), {"x": torch.randn(batch, 3)}


@kind("other")
def perceiver(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.latents, self.enter = nn.Parameter(torch.randn(6, 16)), nn.Linear(4, 16)
            self.cross, self.own = (nn.MultiheadAttention(16, 2, batch_first=True) for _ in range(2))
            self.head = nn.Linear(16, 2)

        def forward(self, x):
            x, l = self.enter(x), self.latents.expand(x.shape[0], -1, -1)
            l = l + self.cross(l, x, x, need_weights=False)[0]
            l = l + self.own(l, l, l, need_weights=False)[0]
            return self.head(l.mean(1))
    return Model(), {"x": torch.randn(batch, 20, 4)}


@kind("other")
def hypernetwork(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.make, self.bias = nn.Linear(5, 8 * 3), nn.Linear(5, 3)

        def forward(self, x, c):
            return torch.bmm(self.make(c).view(-1, 3, 8), x[..., None]).squeeze(-1) + self.bias(c)
    return Model(), {"x": torch.randn(batch, 8), "c": torch.randn(batch, 5)}


@kind("other")
def spatial_transformer(torch, batch):
    nn, functional = torch.nn, torch.nn.functional

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.where = nn.Sequential(nn.Conv2d(1, 4, 5, 2), nn.ReLU(), nn.Flatten(), nn.Linear(144, 6))
            self.features, self.head = nn.Conv2d(1, 4, 3), nn.Linear(4, 4)
            with torch.no_grad():
                self.where[-1].bias.copy_(torch.tensor([1, 0.2, 0.05, -0.1, 0.9, 0.02]))

        def forward(self, x):
            theta = self.where(x).view(-1, 2, 3)
            grid = functional.affine_grid(theta, x.size(), align_corners=False)
            features = self.features(functional.grid_sample(x, grid, align_corners=False)).relu()
            windows = functional.unfold(features, 3, stride=2)
            return self.head(functional.fold(windows.tanh(), (14, 14), 3, stride=2).mean((2, 3)))
    return Model(), image(torch, batch, 16, 1)


@kind("other")
def optical_flow(torch, batch):
    nn, functional = torch.nn, torch.nn.functional

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.features, self.flow, self.out = nn.Conv2d(1, 4, 3,
                                                           padding=1), nn.Conv2d(2, 2, 3,
                                                                                 padding=1), nn.Conv2d(4, 1, 1)

        def forward(self, a, b):
            rows, columns = torch.meshgrid(torch.linspace(-1, 1, a.shape[2]), torch.linspace(-1, 1, a.shape[3]),
                                           indexing="ij")
            flow = self.flow(torch.cat([a, b], 1)).permute(0, 2, 3, 1)
            grid = torch.stack([columns, rows], -1)[None] + 0.3 * flow
            warped = functional.grid_sample(self.features(b), grid, align_corners=True, padding_mode="reflection")
            return self.out(warped.tanh()) - a
    return Model(), {"a": torch.randn(batch, 1, 12, 16), "b": torch.randn(batch, 1, 12, 16)}


@kind("other")
def indexed(torch, batch):
    """Reads and writes by computed indices, per sample and across samples."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.enter, self.value, self.head = nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(8, 4)

        def forward(self, x):
            samples, h, v = torch.arange(x.shape[0]), self.enter(x), self.value(x)
            h = h.clone()
            h[:, 2:4] = v[:, :2]
            h[:, :, 5] = v[:, :, 0]
            h[samples, x[:, :, 0].argmax(-1)] = v[:, 4]
            best = x.sum(-1).topk(3)[1]
            h = h.index_put((samples[:, None], best), v[:, 5:8], accumulate=True).tanh()
            lengths = (x[:, :, 1] > 0).sum(-1).clamp(min=1)
            last, some = h[samples, lengths - 1], h[samples[:, None], best].mean(1)
            return self.head(last * some + h.mean(1))
    return Model(), {"x": torch.randn(batch, 10, 6)}
