"""The registry of the models in this folder.

OTHERS: name → function of torch and the batch that returns the model and its example inputs by name. FLAGS: name → the
compiler's flags for the model; the default loss is the mean squared error."""

FLAGS = {}
OTHERS = {}


def kind(of, *flags):
    """Registers a function as OTHERS["of_function"]."""
    def registered(function):
        name = f"{of}_{function.__name__}"
        OTHERS[name] = function
        FLAGS[name] = list(flags) or ["--loss", "mse"]
        return function
    return registered


def first(torch, model, *names):
    """Wraps a model whose output is a dictionary, an object or a tuple: returns the part that is trained."""
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
