import torch, torchvision
torch.onnx.export(torchvision.models.mobilenet_v2().train(), (torch.randn(2, 3, 64, 64),), "folded.onnx", dynamo=True, verbose=False)
