"""Small models of other kinds than classifiers of images and language models: segmentation, diffusion, video, audio, tabular data,
generators and discriminators, metric learning, points and graphs, recommendation, control.

Those of segmentation_models_pytorch, diffusers and torchvision are theirs; the rest is written here as tutorials write it.
OTHERS: name → function of torch and the batch that gives the model and its example inputs. Their loss is the mean squared error."""

FLAGS = {}
MODELS = OTHERS = {}


def title(name):
    return name


def kind(of, *flags):
    """Registers a function as OTHERS["of_function"]."""
    def registered(function):
        name = f"{of}_{function.__name__}"
        OTHERS[name] = function
        FLAGS[name] = list(flags) or ["--loss", "mse"]
        return function
    return registered


def first(torch, model, *names):
    """A model whose output is a dictionary, an object or a tuple: the part that is trained."""
    class First(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *inputs):
            output = self.model(*inputs)
            for name in names:
                output = output[name] if isinstance(output, (dict, tuple, list)) else getattr(output, name)
            return output
    return First()


def image(torch, batch, side=64, channels=3):
    return {"x": torch.randn(batch, channels, side, side)}


# Segmentation.

def _smp(architecture):
    def function(torch, batch):
        import segmentation_models_pytorch as smp
        return getattr(smp, architecture)(encoder_name="resnet18", encoder_weights=None, classes=5), image(torch, batch, 128)
    function.__name__ = architecture.lower()
    return function


for _name in ("Unet", "UnetPlusPlus", "MAnet", "Linknet", "FPN", "PSPNet", "PAN", "DeepLabV3", "DeepLabV3Plus", "UPerNet", "Segformer"):
    kind("segment", "--loss", "softmax-cross-entropy")(_smp(_name))


@kind("segment", "--loss", "softmax-cross-entropy")
def fcn_resnet50(torch, batch):
    import torchvision
    return first(torch, torchvision.models.segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=5), "out"), image(torch, batch)


@kind("segment", "--loss", "softmax-cross-entropy")
def lraspp(torch, batch):
    import torchvision
    return first(torch, torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5), "out"), image(torch, batch)


@kind("segment", "--loss", "softmax-cross-entropy")
def unet_3d(torch, batch):
    nn = torch.nn

    def block(a, b):
        return nn.Sequential(nn.Conv3d(a, b, 3, padding=1), nn.BatchNorm3d(b), nn.ReLU(), nn.Conv3d(b, b, 3, padding=1), nn.BatchNorm3d(b), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.bottom, self.up, self.out = block(1, 8), block(8, 16), nn.ConvTranspose3d(16, 8, 2, 2), nn.Conv3d(8, 4, 1)
            self.after = block(16, 8)

        def forward(self, x):
            a = self.down(x)
            b = self.bottom(nn.functional.max_pool3d(a, 2))
            return self.out(self.after(torch.cat([self.up(b), a], 1)))
    return UNet(), {"x": torch.randn(batch, 1, 16, 16, 16)}


# Diffusion.

@kind("diffusion")
def unet2d(torch, batch):
    import diffusers
    model = diffusers.UNet2DModel(sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(16, 32), norm_num_groups=8,
                                  down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"))
    return first(torch, model, "sample"), {"x": torch.randn(batch, 3, 16, 16), "t": torch.randint(0, 1000, (batch,))}


@kind("diffusion")
def unet2d_condition(torch, batch):
    import diffusers
    model = diffusers.UNet2DConditionModel(sample_size=16, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(16, 32),
                                           norm_num_groups=8, cross_attention_dim=16, attention_head_dim=4,
                                           down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"))
    return first(torch, model, "sample"), {"x": torch.randn(batch, 4, 16, 16), "t": torch.randint(0, 1000, (batch,)), "text": torch.randn(batch, 8, 16)}


@kind("diffusion")
def dit(torch, batch):
    import diffusers
    model = diffusers.DiTTransformer2DModel(num_attention_heads=2, attention_head_dim=8, in_channels=4, out_channels=4, num_layers=2, sample_size=8,
                                            norm_num_groups=4, num_embeds_ada_norm=100)

    class Called(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x, t, c):
            return self.model(x, timestep=t, class_labels=c).sample
    return Called(), {"x": torch.randn(batch, 4, 8, 8), "t": torch.randint(0, 100, (batch,)), "c": torch.randint(0, 10, (batch,))}


@kind("diffusion")
def sd3(torch, batch):
    import diffusers
    model = diffusers.SD3Transformer2DModel(sample_size=8, patch_size=2, in_channels=4, num_layers=2, attention_head_dim=8, num_attention_heads=2,
                                            joint_attention_dim=16, caption_projection_dim=16, pooled_projection_dim=16, out_channels=4)
    return first(torch, model, "sample"), {"x": torch.randn(batch, 4, 8, 8), "text": torch.randn(batch, 6, 16), "pooled": torch.randn(batch, 16),
                                           "t": torch.randint(0, 1000, (batch,))}


@kind("diffusion")
def autoencoder_kl(torch, batch):
    import diffusers
    model = diffusers.AutoencoderKL(block_out_channels=(16, 16), norm_num_groups=8, down_block_types=("DownEncoderBlock2D",) * 2,
                                    up_block_types=("UpDecoderBlock2D",) * 2)
    return first(torch, model, "sample"), image(torch, batch, 32)


@kind("diffusion")
def vq_model(torch, batch):
    import diffusers
    model = diffusers.VQModel(block_out_channels=(16,), norm_num_groups=8, num_vq_embeddings=32)
    return first(torch, model, "sample"), image(torch, batch, 16)


@kind("diffusion")
def ddpm_scratch(torch, batch):
    nn = torch.nn

    class Time(nn.Module):
        def forward(self, t):
            frequencies = torch.exp(torch.arange(16) * (-9.21 / 15))
            angles = t[:, None].float() * frequencies[None]
            return torch.cat([angles.sin(), angles.cos()], -1)

    class Block(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.norm, self.conv, self.time = nn.GroupNorm(4, a), nn.Conv2d(a, b, 3, padding=1), nn.Linear(32, b)
            self.norm2, self.conv2, self.skip = nn.GroupNorm(4, b), nn.Conv2d(b, b, 3, padding=1), nn.Conv2d(a, b, 1)

        def forward(self, x, t):
            h = self.conv(nn.functional.silu(self.norm(x))) + self.time(nn.functional.silu(t))[:, :, None, None]
            return self.conv2(nn.functional.silu(self.norm2(h))) + self.skip(x)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.time, self.enter = Time(), nn.Conv2d(3, 8, 3, padding=1)
            self.a, self.b, self.c, self.out = Block(8, 16), Block(16, 16), Block(32, 8), nn.Conv2d(8, 3, 3, padding=1)

        def forward(self, x, t):
            t = self.time(t).to(x.dtype)
            a = self.a(self.enter(x), t)
            b = self.b(nn.functional.avg_pool2d(a, 2), t)
            return self.out(self.c(torch.cat([nn.functional.interpolate(b, scale_factor=2, mode="nearest"), a], 1), t))
    return Model(), {"x": torch.randn(batch, 3, 16, 16), "t": torch.randint(0, 1000, (batch,))}


# Video.

def _video(name, frames=8, side=32):
    def function(torch, batch):
        import torchvision
        return getattr(torchvision.models.video, name)(weights=None, num_classes=10), {"x": torch.randn(batch, 3, frames, side, side)}
    function.__name__ = name
    return function


for _name, _frames, _side in (("r3d_18", 8, 32), ("mc3_18", 8, 32), ("r2plus1d_18", 8, 32), ("s3d", 16, 224), ("swin3d_t", 8, 64), ("mvit_v2_s", 16, 224)):
    kind("video", "--loss", "softmax-cross-entropy")(_video(_name, _frames, _side))


@kind("video", "--loss", "softmax-cross-entropy")
def cnn_lstm(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.cnn = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
            self.lstm, self.head = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 10)

        def forward(self, x):
            frames = self.cnn(x.flatten(0, 1)).unflatten(0, (x.shape[0], x.shape[1]))
            return self.head(self.lstm(frames)[0][:, -1])
    return Model(), {"x": torch.randn(batch, 4, 3, 16, 16)}


# Audio.

@kind("audio")
def conv_tasnet(torch, batch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, dilation):
            super().__init__()
            self.net = nn.Sequential(nn.Conv1d(16, 32, 1), nn.PReLU(), nn.GroupNorm(1, 32, eps=1e-8),
                                     nn.Conv1d(32, 32, 3, padding=dilation, dilation=dilation, groups=32), nn.PReLU(), nn.GroupNorm(1, 32, eps=1e-8))
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
            self.conv = nn.Sequential(nn.Conv1d(32, 64, 1), nn.GLU(1), nn.Conv1d(32, 32, 5, padding=2, groups=32), nn.BatchNorm1d(32), nn.SiLU(), nn.Conv1d(32, 32, 1))
            self.ff2, self.last = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 32)), nn.LayerNorm(32)

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
    return nn.Sequential(*(layer for i in range(3) for layer in (
        nn.utils.parametrizations.weight_norm(nn.Conv1d(4 if i == 0 else 8, 8, 3, padding=2**i, dilation=2**i)), nn.ReLU(), nn.Dropout(0.1))),
        nn.Conv1d(8, 1, 1)), {"x": torch.randn(batch, 4, 40)}


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
            self.deep = nn.Sequential(nn.Linear(24, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))

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
            self.norm, self.mask, self.body, self.head = nn.BatchNorm1d(8), nn.Linear(8, 8), nn.Linear(8, 32), nn.Linear(16, 1)

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
            self.mlp, self.head = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU()), nn.Linear(16, 1)

        def forward(self, user, item):
            return self.head(torch.cat([self.u(user) * self.i(item), self.mlp(torch.cat([self.um(user), self.im(item)], -1))], -1)).squeeze(-1)
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
            mean, deviation = x.mean(1, keepdim=True).detach(), torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5).detach()
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
            self.lstm, self.score, self.head = nn.LSTM(4, 16, num_layers=2, bidirectional=True, batch_first=True), nn.Linear(32, 1), nn.Linear(32, 2)

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


# Generators, discriminators, autoencoders.

@kind("gan")
def dcgan_generator(torch, batch):
    nn = torch.nn
    return nn.Sequential(nn.ConvTranspose2d(16, 32, 4, 1, 0, bias=False), nn.BatchNorm2d(32), nn.ReLU(True), nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False),
                         nn.BatchNorm2d(16), nn.ReLU(True), nn.ConvTranspose2d(16, 3, 4, 2, 1, bias=False), nn.Tanh()), {"z": torch.randn(batch, 16, 1, 1)}


@kind("gan", "--loss", "bce-logits")
def dcgan_discriminator(torch, batch):
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(16, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.LeakyReLU(0.2, True),
                         nn.Conv2d(32, 1, 4), nn.Flatten()), image(torch, batch, 16)


@kind("gan")
def spectral_discriminator(torch, batch):
    nn, norm = torch.nn, torch.nn.utils.parametrizations.spectral_norm
    return nn.Sequential(norm(nn.Conv2d(3, 8, 4, 2, 1)), nn.LeakyReLU(0.1), norm(nn.Conv2d(8, 16, 4, 2, 1)), nn.LeakyReLU(0.1), nn.Flatten(),
                         norm(nn.Linear(256, 1))), image(torch, batch, 16)


@kind("gan")
def cyclegan_generator(torch, batch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(16, 16, 3), nn.InstanceNorm2d(16), nn.ReLU(), nn.ReflectionPad2d(1), nn.Conv2d(16, 16, 3), nn.InstanceNorm2d(16))

        def forward(self, x):
            return x + self.net(x)
    return nn.Sequential(nn.ReflectionPad2d(3), nn.Conv2d(3, 8, 7), nn.InstanceNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.InstanceNorm2d(16), nn.ReLU(),
                         Block(), Block(), nn.ConvTranspose2d(16, 8, 3, 2, 1, 1), nn.InstanceNorm2d(8), nn.ReLU(), nn.ReflectionPad2d(3), nn.Conv2d(8, 3, 7), nn.Tanh()), image(torch, batch, 32)


@kind("gan")
def stylegan_like(torch, batch):
    nn = torch.nn

    class Modulated(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.weight, self.style, self.noise = nn.Parameter(torch.randn(b, a, 3, 3)), nn.Linear(16, a), nn.Parameter(torch.zeros(1))

        def forward(self, x, w):
            s = self.style(w) + 1
            x = nn.functional.conv2d(x * s[:, :, None, None], self.weight, padding=1)
            d = torch.rsqrt((self.weight[None] * s[:, None, :, None, None]).square().sum((2, 3, 4)) + 1e-8)
            x = x * d[:, :, None, None]
            return nn.functional.leaky_relu(x + self.noise * torch.randn_like(x[:, :1]), 0.2)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.map = nn.Sequential(nn.Linear(16, 16), nn.LeakyReLU(0.2), nn.Linear(16, 16), nn.LeakyReLU(0.2))
            self.start, self.a, self.b, self.rgb = nn.Parameter(torch.randn(1, 16, 4, 4)), Modulated(16, 16), Modulated(16, 8), nn.Conv2d(8, 3, 1)

        def forward(self, z):
            w = self.map(z * torch.rsqrt(z.square().mean(1, keepdim=True) + 1e-8))
            x = self.a(self.start.expand(z.shape[0], -1, -1, -1), w)
            x = nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            return self.rgb(self.b(x, w))
    return Model(), {"z": torch.randn(batch, 16)}


@kind("gan")
def vae(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 16)), nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 64))

        def forward(self, x):
            mean, logarithm = self.encode(x).chunk(2, 1)
            return self.decode(mean + torch.randn_like(mean) * torch.exp(logarithm / 2)).view(x.shape)
    return Model(), image(torch, batch, 8, 1)


@kind("gan")
def vq_vae(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.book, self.decode = nn.Conv2d(3, 8, 4, 4), nn.Embedding(32, 8), nn.ConvTranspose2d(8, 3, 4, 4)

        def forward(self, x):
            z = self.encode(x).permute(0, 2, 3, 1)
            flat = z.reshape(-1, 8)
            distances = flat.square().sum(1, keepdim=True) - 2 * flat @ self.book.weight.T + self.book.weight.square().sum(1)
            q = self.book(distances.argmin(1)).view(z.shape)
            q = z + (q - z).detach()
            return self.decode(q.permute(0, 3, 1, 2))
    return Model(), image(torch, batch, 16)


@kind("gan")
def esrgan(torch, batch):
    nn = torch.nn

    class Dense(nn.Module):
        def __init__(self):
            super().__init__()
            self.convs = nn.ModuleList(nn.Conv2d(8 + 4 * i, 4 if i < 3 else 8, 3, padding=1) for i in range(4))

        def forward(self, x):
            all = [x]
            for convolution in self.convs[:-1]:
                all.append(nn.functional.leaky_relu(convolution(torch.cat(all, 1)), 0.2))
            return x + 0.2 * self.convs[-1](torch.cat(all, 1))
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), Dense(), Dense(), nn.Conv2d(8, 32, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(8, 3, 3, padding=1)), image(torch, batch, 12)


# Metric learning, several inputs.

@kind("metric")
def siamese(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(392, 16))

        def forward(self, a, b):
            return nn.functional.pairwise_distance(nn.functional.normalize(self.net(a)), nn.functional.normalize(self.net(b)))
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
            cosine = nn.functional.linear(nn.functional.normalize(self.net(x)), nn.functional.normalize(self.weight)).clamp(-0.999, 0.999)
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
            self.net, self.norm = nn.Sequential(nn.Linear(12, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8)), nn.BatchNorm1d(8, affine=False)

        def forward(self, a, b):
            c = self.norm(self.net(a)).T @ self.norm(self.net(b)) / a.shape[0]
            on = (torch.diagonal(c) - 1).square().sum()
            off = c.square().sum() - torch.diagonal(c).square().sum()
            return on + 0.005 * off
    return Model(), {"a": torch.randn(batch, 12), "b": torch.randn(batch, 12)}


# Points, graphs, fields.

@kind("points", "--loss", "softmax-cross-entropy")
def pointnet(torch, batch):
    nn = torch.nn

    class Transform(nn.Module):
        def __init__(self, k):
            super().__init__()
            self.k, self.net, self.head = k, nn.Sequential(nn.Conv1d(k, 16, 1), nn.BatchNorm1d(16), nn.ReLU()), nn.Linear(16, k * k)

        def forward(self, x):
            y = self.head(self.net(x).max(2)[0]) + torch.eye(self.k).flatten()
            return torch.bmm(y.view(-1, self.k, self.k), x)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.t1, self.body, self.head = Transform(3), nn.Sequential(nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU()), nn.Linear(32, 10)

        def forward(self, x):
            return self.head(self.body(self.t1(x)).max(2)[0])
    return Model(), {"x": torch.randn(batch, 3, 32)}


@kind("points", "--loss", "softmax-cross-entropy")
def dgcnn(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.edge, self.head = nn.Sequential(nn.Conv2d(6, 16, 1, bias=False), nn.BatchNorm2d(16), nn.LeakyReLU(0.2)), nn.Linear(16, 10)

        def forward(self, x):
            inner = -2 * torch.matmul(x.transpose(2, 1), x)
            squares = (x**2).sum(1, keepdim=True)
            nearest = (-squares - inner - squares.transpose(2, 1)).topk(4, -1)[1]
            features = x.transpose(2, 1)
            neighbours = torch.gather(features[:, :, None].expand(-1, -1, 4, -1), 1, nearest[..., None].expand(-1, -1, -1, 3))
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
            self.a, self.b = nn.Sequential(nn.Linear(39, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU()), nn.Sequential(nn.Linear(71, 32), nn.ReLU(), nn.Linear(32, 4))

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
    return nn.Sequential(nn.Linear(2, 32), Sine(), nn.Linear(32, 32), Sine(), nn.Linear(32, 3)), {"x": torch.randn(batch, 2)}


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
            return self.net(nn.functional.grid_sample(x, torch.einsum("hwk,nck->nhwc", grid, theta), align_corners=False))
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
            self.heads, self.mix = nn.ModuleList((nn.Conv2d(48, 15, 1), nn.Conv2d(32, 15, 1))), nn.Upsample(scale_factor=2)

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
            self.body = nn.Sequential(nn.Conv2d(4, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.Flatten())
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
            self.body, self.policy, self.value = nn.Sequential(nn.Linear(8, 32), nn.Tanh()), nn.Linear(32, 4), nn.Linear(32, 1)

        def forward(self, x, action, old, advantage, returns):
            h = self.body(x)
            logs = torch.log_softmax(self.policy(h), -1)
            ratio = torch.exp(logs.gather(1, action[:, None]).squeeze(1) - old)
            gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            entropy = -(logs.exp() * logs).sum(-1).mean()
            return -gain + 0.5 * (self.value(h).squeeze(-1) - returns).square().mean() - 0.01 * entropy
    return Model(), {"x": torch.randn(batch, 8), "action": torch.randint(0, 4, (batch,)), "old": -torch.rand(batch), "advantage": torch.randn(batch), "returns": torch.randn(batch)}


@kind("other")
def experts(torch, batch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate, self.experts = nn.Linear(16, 4), nn.ModuleList(nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)) for _ in range(4))

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
            return nn.functional.linear(nn.functional.silu(x), self.base) + nn.functional.linear(bases.flatten(1), self.spline.flatten(1))
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


def make(name, batch):
    """The model, its example inputs by name."""
    import torch
    return OTHERS[name](torch, batch)
