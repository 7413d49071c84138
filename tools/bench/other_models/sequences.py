"""Sequence models: audio and time series."""

from other_models.registry import kind


# Audio.

@kind("audio")
def conv_tasnet(torch, batch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, dilation):
            super().__init__()
            self.net = nn.Sequential(nn.Conv1d(16, 32, 1), nn.PReLU(), nn.GroupNorm(1, 32, eps=1e-8),
                                     nn.Conv1d(32, 32, 3, padding=dilation, dilation=dilation, groups=32), nn.PReLU(),
                                     nn.GroupNorm(1, 32, eps=1e-8))
            self.residual, self.skip = nn.Conv1d(32, 16, 1), nn.Conv1d(32, 16, 1)

        def forward(self, x):
            y = self.net(x)
            return x + self.residual(y), self.skip(y)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = nn.Conv1d(1, 16, 16, 8), nn.ConvTranspose1d(16, 1, 16, 8)
            self.blocks, self.mask = nn.ModuleList(Block(2**i) for i in range(3)), nn.Conv1d(16, 32, 1)

        def forward(self, x):
            e = self.encode(x)
            h, total = e, 0
            for block in self.blocks:
                h, skip = block(h)
                total = total + skip
            masks = torch.sigmoid(self.mask(total)).chunk(2, 1)
            return torch.cat([self.decode(e * mask) for mask in masks], 1)
    return Model(), {"x": torch.randn(batch, 1, 400)}


@kind("audio", "--loss", "softmax-cross-entropy")
def wavenet(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.out = nn.Conv1d(1, 8, 1), nn.Conv1d(8, 32, 1)
            self.filters = nn.ModuleList(nn.Conv1d(8, 16, 2, dilation=2**i) for i in range(4))
            self.mixes = nn.ModuleList(nn.Conv1d(8, 8, 1) for _ in range(4))

        def forward(self, x):
            x = self.embed(x)
            for i, (convolution, mix) in enumerate(zip(self.filters, self.mixes)):
                a, b = convolution(nn.functional.pad(x, (2**i, 0))).chunk(2, 1)
                x = x + mix(torch.tanh(a) * torch.sigmoid(b))
            return self.out(torch.relu(x))
    return Model(), {"x": torch.randn(batch, 1, 64)}


@kind("audio", "--class-axis", "-1")
def crnn(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.cnn = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d((2, 1)))
            self.rnn, self.head = nn.GRU(64, 16, bidirectional=True, batch_first=True), nn.Linear(32, 20)

        def forward(self, x):
            return self.head(self.rnn(self.cnn(x).permute(0, 3, 1, 2).flatten(2))[0])
    return Model(), {"x": torch.randn(batch, 1, 16, 20)}


@kind("audio", "--class-axis", "-1")
def conformer(torch, batch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ff1 = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 32))
            self.norm, self.attention = nn.LayerNorm(32), nn.MultiheadAttention(32, 4, batch_first=True)
            self.conv_norm = nn.LayerNorm(32)
            self.conv = nn.Sequential(nn.Conv1d(32, 64, 1), nn.GLU(1), nn.Conv1d(32, 32, 5, padding=2, groups=32),
                                      nn.BatchNorm1d(32), nn.SiLU(), nn.Conv1d(32, 32, 1))
            self.ff2, self.last = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 64), nn.SiLU(),
                                                nn.Linear(64, 32)), nn.LayerNorm(32)

        def forward(self, x):
            x = x + self.ff1(x) / 2
            y = self.norm(x)
            x = x + self.attention(y, y, y, need_weights=False)[0]
            x = x + self.conv(self.conv_norm(x).transpose(1, 2)).transpose(1, 2)
            return self.last(x + self.ff2(x) / 2)
    return nn.Sequential(nn.Linear(20, 32), Block(), Block(), nn.Linear(32, 30)), {"x": torch.randn(batch, 24, 20)}


@kind("audio")
def tcn(torch, batch):
    nn = torch.nn
    return nn.Sequential(
        *(layer for i in range(3) for layer in (
            nn.utils.parametrizations.weight_norm(nn.Conv1d(4 if i == 0 else 8, 8, 3, padding=2**i, dilation=2**i)),
            nn.ReLU(), nn.Dropout(0.1))), nn.Conv1d(8, 1, 1)), {"x": torch.randn(batch, 4, 40)}


# Series.

@kind("series")
def nbeats(torch, batch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
            self.back, self.fore = nn.Linear(32, 24), nn.Linear(32, 6)

        def forward(self, x):
            h = self.body(x)
            return self.back(h), self.fore(h)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(Block() for _ in range(3))

        def forward(self, x):
            total = 0
            for block in self.blocks:
                back, fore = block(x)
                x, total = x - back, total + fore
            return total
    return Model(), {"x": torch.randn(batch, 24)}


@kind("series")
def dlinear_revin(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.trend, self.season, self.gain = nn.Linear(24, 6), nn.Linear(24, 6), nn.Parameter(torch.ones(3))

        def forward(self, x):
            mean, deviation = x.mean(
                1, keepdim=True).detach(), torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5).detach()
            x = ((x - mean) / deviation * self.gain).transpose(1, 2)
            trend = nn.functional.avg_pool1d(nn.functional.pad(x, (2, 2), mode="replicate"), 5, 1)
            y = (self.trend(trend) + self.season(x - trend)).transpose(1, 2)
            return y / self.gain * deviation + mean
    return Model(), {"x": torch.randn(batch, 24, 3)}


@kind("series")
def lstm_attention(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.score, self.head = nn.LSTM(4, 16, num_layers=2, bidirectional=True,
                                                       batch_first=True), nn.Linear(32, 1), nn.Linear(32, 2)

        def forward(self, x):
            h, _ = self.lstm(x)
            return self.head((torch.softmax(self.score(h), 1) * h).sum(1))
    return Model(), {"x": torch.randn(batch, 10, 4)}


@kind("series")
def transformer_seq2seq(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.enter, self.leave = nn.Linear(3, 16), nn.Linear(16, 3)
            self.transformer = nn.Transformer(16, 4, 2, 2, 32, batch_first=True)

        def forward(self, x, y):
            mask = nn.Transformer.generate_square_subsequent_mask(y.shape[1])
            return self.leave(self.transformer(self.enter(x), self.enter(y), tgt_mask=mask))
    return Model(), {"x": torch.randn(batch, 12, 3), "y": torch.randn(batch, 6, 3)}


@kind("series")
def neural_ode(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.f = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))

        def forward(self, x):
            for _ in range(4):
                k1 = self.f(x)
                k2 = self.f(x + 0.125 * k1)
                x = x + 0.25 * k2
            return x
    return Model(), {"x": torch.randn(batch, 4)}
