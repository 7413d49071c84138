"""PyTorch's recurrent layers that its exporters refuse, or write as something else.

An LSTM with a projection (nn.LSTM(proj_size=…)) has no form in ONNX: TorchScript's exporter refuses it, and dynamo's
leaves the projection out. TorchScript's also refuses dropouts between layers in training mode.
"""

import functools
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


def form_of(torch, function, args):
    """For TorchScript's exporter: a function for the same arguments, if this is a call of torch.lstm(), gru(),
    rnn_tanh() or rnn_relu() with dropouts between its layers, or reads a packed sequence that such a call returned.
    None for others."""
    if function == torch._pad_packed_sequence and hasattr(args[0], _BATCH_SIZES):
        return functools.partial(_padded, function)
    if function not in (torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu) or len(args) != 9:
        return None
    num_layers, dropout, train = args[5:8] if _is_packed(args) else args[4:7]
    if num_layers > 1 and dropout > 0 and train:
        return functools.partial(_packed_layer_by_layer if _is_packed(args) else _layer_by_layer, torch, function)
    return functools.partial(_packed, function) if _is_packed(args) and hasattr(args[0], _BATCH_SIZES) else None


def _is_packed(args):
    """Whether the arguments are (data, batch_sizes, hx, params, …), else (input, hx, params, …)."""
    return isinstance(args[3], (tuple, list))


def _layer_by_layer(torch, function, x, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    """A call for each layer, with a dropout in front of each but the first."""
    last = []
    for first, weights in _layers(hx, params, num_layers, bidirectional):
        x = torch.nn.functional.dropout(x, dropout) if last else x
        x, *after = function(x, first, weights, has_biases, 1, 0.0, train, bidirectional, batch_first)
        last.append(after)
    return x, *(torch.cat(each) for each in zip(*last))


def _packed_layer_by_layer(torch, function, x, batch_sizes, hx, params, has_biases, num_layers, dropout, train,
                           bidirectional):
    """The same for a packed sequence. TorchScript's exporter writes it as the padded one, and must see it packed for
    each layer."""
    last, batch_sizes = [], _batch_sizes_of(x, batch_sizes)
    for first, weights in _layers(hx, params, num_layers, bidirectional):
        if last:
            x, lengths = torch._pad_packed_sequence(x, batch_sizes, False, 0.0, batch_sizes.shape[0])
            x, batch_sizes = torch._pack_padded_sequence(torch.nn.functional.dropout(x, dropout), lengths, False)
        x, *after = function(x, batch_sizes, first, weights, has_biases, 1, 0.0, train, bidirectional)
        last.append(after)
    setattr(x, _BATCH_SIZES, batch_sizes)
    return x, *(torch.cat(each) for each in zip(*last))


def _layers(hx, params, num_layers, bidirectional):
    """The first states and the weights of each layer."""
    directions, count = (2 if bidirectional else 1), len(params) // num_layers
    for layer in range(num_layers):
        states = [state.narrow(0, layer * directions, directions) for state in (hx if _is_pair(hx) else (hx,))]
        yield states if _is_pair(hx) else states[0], params[layer * count:(layer + 1) * count]


def _is_pair(hx):
    return isinstance(hx, (tuple, list))


# PyTorch gives the result of a layer the batch sizes of its input. The exporter needs those of the last packing, which
# are kept here, as an attribute of the packed data.
_BATCH_SIZES = "plimsoll_batch_sizes"


def _batch_sizes_of(data, batch_sizes):
    return getattr(data, _BATCH_SIZES, batch_sizes)


def _packed(function, data, batch_sizes, *others):
    batch_sizes = _batch_sizes_of(data, batch_sizes)
    data, *last = function(data, batch_sizes, *others)
    setattr(data, _BATCH_SIZES, batch_sizes)
    return data, *last


def _padded(function, data, batch_sizes, *others):
    return function(data, _batch_sizes_of(data, batch_sizes), *others)
