"""PyTorch's recurrent layers that its exporters refuse, or write as something else.

An LSTM with a projection (nn.LSTM(proj_size=…)) has no form in ONNX: TorchScript's exporter refuses it, and dynamo's
leaves the projection out. TorchScript's also refuses dropouts between layers in training mode.
"""

import inspect

from . import refusals


def is_projected(function, args):
    """Whether this is a call of torch.lstm() with projections: its states h are narrower than its states c."""
    states = next((a for a in args if isinstance(a, (tuple, list)) and len(a) == 2), None)
    return states is not None and states[0].shape[-1] != states[1].shape[-1]


def projected_lstm(torch, *args, **kwargs):
    """One step after the other: the number of steps becomes that of the example."""
    names = ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")
    if len(args) > 1 and isinstance(args[1], torch.Tensor):
        raise refusals.Refused("an LSTM with a projection (proj_size) cannot be exported for a packed sequence; give "
                               "it the padded tensor")
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    return _projected_lstm(torch, **inspect.Signature(parameters).bind(*args, **kwargs).arguments)


def _projected_lstm(torch, input, hx, params, has_biases, num_layers, dropout, train,  # noqa: A002: PyTorch's name
                    bidirectional, batch_first):
    linear = torch.nn.functional.linear
    directions, weights_each = (2 if bidirectional else 1), (5 if has_biases else 3)
    x = input.transpose(0, 1) if batch_first else input
    last = []
    for layer in range(num_layers):
        results = []
        for direction in range(directions):
            number = layer * directions + direction
            of_input, of_state, *biases, projection = params[number * weights_each:(number + 1) * weights_each]
            steps = linear(x, of_input, biases[0] + biases[1] if biases else None).unbind(0)
            h, c, made = hx[0][number], hx[1][number], []
            for step in reversed(steps) if direction else steps:
                enter, forget, cell, leave = (step + linear(h, of_state)).chunk(4, -1)
                c = torch.sigmoid(forget) * c + torch.sigmoid(enter) * torch.tanh(cell)
                h = linear(torch.sigmoid(leave) * torch.tanh(c), projection)
                made.append(h)
            results.append(torch.stack(made[::-1] if direction else made))
            last.append((h, c))
        x = torch.cat(results, -1) if bidirectional else results[0]
        if dropout > 0 and train and layer + 1 < num_layers:
            x = torch.nn.functional.dropout(x, dropout)
    h, c = (torch.stack(states) for states in zip(*last))
    return x.transpose(0, 1) if batch_first else x, h, c


def drops(torch, function, args):
    """Whether this is a call of torch.lstm(), gru(), rnn_tanh() or rnn_relu() with dropouts between its layers. False
    for a packed sequence, which TorchScript's exporter must see pass from layer to layer."""
    if function not in (torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu) or len(args) != 9:
        return False
    num_layers, dropout, train = args[4:7]
    return not isinstance(args[3], (tuple, list)) and num_layers > 1 and dropout > 0 and bool(train)


def layer_by_layer(torch, function, input, hx, params, has_biases, num_layers, dropout, train,  # noqa: A002
                   bidirectional, batch_first):
    """A call for each layer, with a dropout in front of each but the first."""
    directions, is_lstm = (2 if bidirectional else 1), isinstance(hx, (tuple, list))
    states, count, last = (hx if is_lstm else (hx,)), len(params) // num_layers, []
    for layer in range(num_layers):
        x = input if layer == 0 else torch.nn.functional.dropout(x, dropout)
        first = [state.narrow(0, layer * directions, directions) for state in states]
        x, *after = function(x, first if is_lstm else first[0], params[layer * count:(layer + 1) * count], has_biases,
                             1, 0.0, train, bidirectional, batch_first)
        last.append(after)
    return x, *(torch.cat(each) for each in zip(*last))
