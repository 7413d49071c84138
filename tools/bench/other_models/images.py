"""Image models other than classifiers: segmentation, diffusion, video."""

from other_models.registry import first, image, kind


# Segmentation.

def _smp(architecture):
    def function(torch, batch):
        import segmentation_models_pytorch as smp
        return getattr(smp, architecture)(encoder_name="resnet18", encoder_weights=None,
                                          classes=5), image(torch, batch, 128)
    function.__name__ = architecture.lower()
    return function


for _name in ("Unet", "UnetPlusPlus", "MAnet", "Linknet", "FPN", "PSPNet", "PAN", "DeepLabV3", "DeepLabV3Plus",
              "UPerNet", "Segformer"):
    kind("segment", "--loss", "softmax-cross-entropy")(_smp(_name))


@kind("segment", "--loss", "softmax-cross-entropy")
def fcn_resnet50(torch, batch):
    import torchvision
    return first(torch, torchvision.models.segmentation.fcn_resnet50(weights=None, weights_backbone=None,
                                                                     num_classes=5), "out"), image(torch, batch)


@kind("segment", "--loss", "softmax-cross-entropy")
def lraspp(torch, batch):
    import torchvision
    return first(
        torch,
        torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5),
        "out"), image(torch, batch)


@kind("segment", "--loss", "softmax-cross-entropy")
def unet_3d(torch, batch):
    nn = torch.nn

    def block(a, b):
        return nn.Sequential(nn.Conv3d(a, b, 3, padding=1), nn.BatchNorm3d(b), nn.ReLU(), nn.Conv3d(b, b, 3, padding=1),
                             nn.BatchNorm3d(b), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.bottom, self.up, self.out = block(1,
                                                              8), block(8,
                                                                        16), nn.ConvTranspose3d(16, 8, 2,
                                                                                                2), nn.Conv3d(8, 4, 1)
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
    model = diffusers.UNet2DModel(sample_size=16, in_channels=3, out_channels=3, layers_per_block=1,
                                  block_out_channels=(16, 32), norm_num_groups=8,
                                  down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                                  up_block_types=("AttnUpBlock2D", "UpBlock2D"))
    return first(torch, model, "sample"), {"x": torch.randn(batch, 3, 16, 16), "t": torch.randint(0, 1000, (batch,))}


@kind("diffusion")
def unet2d_condition(torch, batch):
    import diffusers
    model = diffusers.UNet2DConditionModel(sample_size=16, in_channels=4, out_channels=4, layers_per_block=1,
                                           block_out_channels=(16, 32), norm_num_groups=8, cross_attention_dim=16,
                                           attention_head_dim=4,
                                           down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                                           up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"))
    return first(torch, model, "sample"), {
        "x": torch.randn(batch, 4, 16, 16), "t": torch.randint(0, 1000, (batch,)), "text": torch.randn(batch, 8, 16)
    }


@kind("diffusion")
def dit(torch, batch):
    import diffusers
    model = diffusers.DiTTransformer2DModel(num_attention_heads=2, attention_head_dim=8, in_channels=4, out_channels=4,
                                            num_layers=2, sample_size=8, norm_num_groups=4, num_embeds_ada_norm=100)

    class Called(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x, t, c):
            return self.model(x, timestep=t, class_labels=c).sample

    return Called(), {
        "x": torch.randn(batch, 4, 8, 8), "t": torch.randint(0, 100, (batch,)), "c": torch.randint(0, 10, (batch,))
    }


@kind("diffusion")
def sd3(torch, batch):
    import diffusers
    model = diffusers.SD3Transformer2DModel(sample_size=8, patch_size=2, in_channels=4, num_layers=2,
                                            attention_head_dim=8, num_attention_heads=2, joint_attention_dim=16,
                                            caption_projection_dim=16, pooled_projection_dim=16, out_channels=4)
    return first(torch, model, "sample"), {
        "x": torch.randn(batch, 4, 8, 8), "text": torch.randn(batch, 6, 16), "pooled": torch.randn(batch, 16),
        "t": torch.randint(0, 1000, (batch,))
    }


@kind("diffusion")
def autoencoder_kl(torch, batch):
    import diffusers
    model = diffusers.AutoencoderKL(block_out_channels=(16, 16), norm_num_groups=8,
                                    down_block_types=("DownEncoderBlock2D",) * 2,
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
        return getattr(torchvision.models.video,
                       name)(weights=None, num_classes=10), {"x": torch.randn(batch, 3, frames, side, side)}
    function.__name__ = name
    return function


for _name, _frames, _side in (("r3d_18", 8, 32), ("mc3_18", 8, 32), ("r2plus1d_18", 8, 32), ("s3d", 16, 224),
                              ("swin3d_t", 8, 64), ("mvit_v2_s", 16, 224)):
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
