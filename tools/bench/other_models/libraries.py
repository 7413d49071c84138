"""Networks and losses of MONAI, for images of medicine. They need `pip install monai`."""

from other_models.registry import kind


def with_loss(torch, model, loss):
    """The model and its loss as one module, whose output is the loss."""
    class WithLoss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model, self.loss = model, loss

        def forward(self, x, y):
            return self.loss(self.model(x), y)
    return WithLoss()


def volumes(torch, batch, side=32):
    shape = (batch, 1, side, side, side)
    return {"x": torch.randn(shape), "y": torch.randint(0, 2, shape).float()}


@kind("monai", "--loss", "output")
def unet_dice(torch, batch):
    from monai.losses import DiceLoss
    from monai.networks.nets import UNet
    model = UNet(3, 1, 2, (4, 8, 16), (2, 2), num_res_units=2)
    return with_loss(torch, model, DiceLoss(to_onehot_y=True, softmax=True)), volumes(torch, batch)


@kind("monai", "--loss", "output")
def dynunet_dice_ce(torch, batch):
    from monai.losses import DiceCELoss
    from monai.networks.nets import DynUNet
    model = DynUNet(3, 1, 2, [3, 3, 3], [1, 2, 2], [2, 2], filters=[4, 8, 16], res_block=True)
    return with_loss(torch, model, DiceCELoss(to_onehot_y=True, softmax=True)), volumes(torch, batch)


@kind("monai", "--loss", "output")
def segresnet_tversky(torch, batch):
    from monai.losses import TverskyLoss
    from monai.networks.nets import SegResNet
    model = SegResNet(3, init_filters=8, in_channels=1, out_channels=2, blocks_down=(1, 1), blocks_up=(1,))
    return with_loss(torch, model, TverskyLoss(to_onehot_y=True, softmax=True)), volumes(torch, batch)


@kind("monai", "--loss", "output")
def attention_unet_focal(torch, batch):
    from monai.losses import FocalLoss
    from monai.networks.nets import AttentionUnet
    model = AttentionUnet(3, 1, 2, (4, 8, 16), (2, 2))
    return with_loss(torch, model, FocalLoss(to_onehot_y=True)), volumes(torch, batch)


@kind("monai", "--loss", "output")
def unetr_dice(torch, batch):
    from monai.losses import DiceLoss
    from monai.networks.nets import UNETR
    model = UNETR(1, 2, (32, 32, 32), feature_size=4, hidden_size=12, mlp_dim=16, num_heads=2)
    return with_loss(torch, model, DiceLoss(to_onehot_y=True, softmax=True)), volumes(torch, batch)
