"""Generators, discriminators and autoencoders."""

from other_models.registry import image, kind


# Generators, discriminators, autoencoders.

@kind("gan")
def dcgan_generator(torch, batch):
    nn = torch.nn
    return nn.Sequential(nn.ConvTranspose2d(16, 32, 4, 1, 0, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
                         nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
                         nn.ConvTranspose2d(16, 3, 4, 2, 1, bias=False),
                         nn.Tanh()), {"z": torch.randn(batch, 16, 1, 1)}


@kind("gan", "--loss", "bce-logits")
def dcgan_discriminator(torch, batch):
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(16, 32, 4, 2, 1),
                         nn.BatchNorm2d(32), nn.LeakyReLU(0.2, True), nn.Conv2d(32, 1, 4),
                         nn.Flatten()), image(torch, batch, 16)


@kind("gan")
def spectral_discriminator(torch, batch):
    nn, norm = torch.nn, torch.nn.utils.parametrizations.spectral_norm
    return nn.Sequential(norm(nn.Conv2d(3, 8, 4, 2, 1)), nn.LeakyReLU(0.1), norm(nn.Conv2d(8, 16, 4, 2, 1)),
                         nn.LeakyReLU(0.1), nn.Flatten(), norm(nn.Linear(256, 1))), image(torch, batch, 16)


@kind("gan")
def cyclegan_generator(torch, batch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(16, 16, 3), nn.InstanceNorm2d(16), nn.ReLU(),
                                     nn.ReflectionPad2d(1), nn.Conv2d(16, 16, 3), nn.InstanceNorm2d(16))

        def forward(self, x):
            return x + self.net(x)

    return nn.Sequential(nn.ReflectionPad2d(3), nn.Conv2d(3, 8, 7), nn.InstanceNorm2d(8), nn.ReLU(),
                         nn.Conv2d(8, 16, 3, 2, 1), nn.InstanceNorm2d(16), nn.ReLU(), Block(), Block(),
                         nn.ConvTranspose2d(16, 8, 3, 2, 1, 1), nn.InstanceNorm2d(8), nn.ReLU(), nn.ReflectionPad2d(3),
                         nn.Conv2d(8, 3, 7), nn.Tanh()), image(torch, batch, 32)


@kind("gan")
def stylegan_like(torch, batch):
    nn = torch.nn

    class Modulated(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.weight, self.style, self.noise = nn.Parameter(torch.randn(b, a, 3, 3)), nn.Linear(16, a), nn.Parameter(
                torch.zeros(1))

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
            self.start, self.a, self.b, self.rgb = nn.Parameter(torch.randn(1, 16, 4, 4)), Modulated(16, 16), Modulated(
                16, 8), nn.Conv2d(8, 3, 1)

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
            self.encode, self.decode = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(),
                                                     nn.Linear(32,
                                                               16)), nn.Sequential(nn.Linear(8, 32), nn.ReLU(),
                                                                                   nn.Linear(32, 64))

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
            self.encode, self.book, self.decode = nn.Conv2d(3, 8, 4,
                                                            4), nn.Embedding(32, 8), nn.ConvTranspose2d(8, 3, 4, 4)

        def forward(self, x):
            z = self.encode(x).permute(0, 2, 3, 1)
            flat = z.reshape(-1, 8)
            distances = flat.square().sum(
                1, keepdim=True) - 2 * flat @ self.book.weight.T + self.book.weight.square().sum(1)
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

    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), Dense(), Dense(), nn.Conv2d(8, 32, 3, padding=1),
                         nn.PixelShuffle(2), nn.Conv2d(8, 3, 3, padding=1)), image(torch, batch, 12)
