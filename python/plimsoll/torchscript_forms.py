"""Calls for which TorchScript's exporter has no form. Dynamo's has one for each."""

import functools


@functools.lru_cache(maxsize=None)
def _forms(torch):
    of, functional = torch.Tensor, torch.nn.functional
    places = {
        _channel_shuffle: (torch.channel_shuffle, functional.channel_shuffle),
        _threshold: (torch.threshold, functional.threshold),
        _bilinear: (torch.bilinear, functional.bilinear),
        _addcdiv: (torch.addcdiv, of.addcdiv),
        _rot90: (torch.rot90, of.rot90),
        _take_along_dim: (torch.take_along_dim, of.take_along_dim),
        _kron: (torch.kron, of.kron),
        _eye: (torch.eye,),
        _histc: (torch.histc, of.histc),
        _affine_grid: (functional.affine_grid,),
        _fold: (functional.fold,),
        _batch_norm: (functional.batch_norm,),
        _instance_norm: (functional.instance_norm,),
        _cross_entropy: (functional.cross_entropy,),
    }
    forms = {function: functools.partial(form, torch) for form, functions in places.items() for function in functions}
    if hasattr(functional, "scaled_dot_product_attention"):  # PyTorch 2
        attention = functional.scaled_dot_product_attention
        forms[attention] = functools.partial(_attention, torch, attention)
    for function in (torch.roll, of.roll):
        forms[function] = functools.partial(_roll, torch, function)
    forms[of.new] = functools.partial(_new, torch, of.new)
    return forms


def form_of(torch, function):
    """A function for the same arguments; None for others."""
    return _forms(torch).get(function)


def _new(torch, new, input, *sizes, **options):  # noqa: A002: here and below PyTorch's names
    """Tensor.new(): the exporter keeps the memory of the example's as a constant."""
    are_sizes = all(isinstance(size, int) or type(size) == torch.Tensor and size.dim() == 0 for size in sizes)
    if sizes and not options and (are_sizes or type(sizes[0]) == torch.Size):
        return input.new_empty(*sizes)
    return new(input, *sizes, **options)


def _channel_shuffle(torch, input, groups):  # noqa: A002
    sizes = [int(size) for size in input.shape[1:]]
    apart = input.reshape(-1, groups, sizes[0] // groups, *sizes[1:])
    return apart.transpose(1, 2).reshape(-1, *sizes)


def _threshold(torch, input, threshold, value, inplace=False):  # noqa: A002
    result = torch.where(input > threshold, input, torch.full_like(input, value))
    return input.copy_(result) if inplace else result


def _bilinear(torch, input1, input2, weight, bias=None):
    result = torch.einsum("...i,oij,...j->...o", input1, weight, input2)
    return result if bias is None else result + bias


def _addcdiv(torch, input, tensor1, tensor2, *, value=1):  # noqa: A002
    return input + value * (tensor1 / tensor2)


def _rot90(torch, input, k=1, dims=(0, 1)):  # noqa: A002
    first, second = dims
    if k % 4 == 0:
        return input * 1
    if k % 4 == 2:
        return input.flip((first, second))
    return input.flip(second if k % 4 == 1 else first).transpose(first, second)


def _take_along_dim(torch, input, indices, dim=None):  # noqa: A002
    """The other axes are broadcast."""
    if dim is None:
        return input.reshape(-1)[indices.reshape(-1)]
    axes = [axis for axis in range(input.dim()) if axis != dim % input.dim()]
    shapes = [list(each.shape) for each in (input, indices)]
    for axis in axes:
        if shapes[0][axis] != shapes[1][axis]:
            size = max(shapes[0][axis], shapes[1][axis])
            shapes[0][axis] = shapes[1][axis] = size
    places = torch.where(indices < 0, indices + input.shape[dim], indices)
    return torch.gather(input.expand(shapes[0]), dim, places.expand(shapes[1]))


def _kron(torch, input, other):  # noqa: A002
    """The product of all elements, with the axes of both side by side: [a1,1,a2,1] times [1,b1,1,b2]."""
    rank = max(input.dim(), other.dim())
    sizes = [[1] * (rank - each.dim()) + [int(size) for size in each.shape] for each in (input, other)]
    first = input.reshape([size for each in sizes[0] for size in (each, 1)])
    second = other.reshape([size for each in sizes[1] for size in (1, each)])
    return (first * second).reshape([one * another for one, another in zip(*sizes)])


def _histc(torch, input, bins=100, min=0, max=0):  # noqa: A002
    """How many elements are in each of `bins` parts of [min, max], whose last one has max, too."""
    if not min < max:  # the range of the elements
        return torch.histc(input, bins, min, max)
    values = input.reshape(-1, 1)
    place = torch.floor((values - min) * (bins / (max - min))).clamp(max=bins - 1)
    counted = (place == torch.arange(bins, device=input.device)) & (values <= max)
    return counted.to(input.dtype).sum(0)


def _eye(torch, n, m=None, *, out=None, **options):
    """With `out` or another number of columns, which the exporter refuses."""
    if out is None and m is None:
        return torch.eye(n, **options)
    dtype, device = (options.get("dtype"), options.get("device")) if out is None else (out.dtype, out.device)
    rows, columns = torch.arange(int(n), device=device), torch.arange(int(n if m is None else m), device=device)
    result = (rows.unsqueeze(1) == columns).to(dtype or torch.get_default_dtype())
    return result if out is None else out.zero_().add_(result)


def _roll(torch, roll, input, shifts, dims=None):  # noqa: A002
    if dims is None or dims == ():
        return roll(input.reshape(-1), shifts, 0).reshape(input.shape)
    return roll(input, shifts, dims)


def _affine_grid(torch, theta, size, align_corners=None):
    """The positions of pixels, from -1 to 1, times the matrix of each sample: the order of columns is x, y, z."""
    lengths = [int(length) for length in size[2:]]
    axes = []
    for length in lengths:
        numbers = torch.linspace(-1, 1, length, dtype=theta.dtype)
        if length == 1:
            numbers = torch.zeros(1, dtype=theta.dtype)
        axes.append(numbers if align_corners else numbers * (length - 1) / length)
    columns = list(torch.meshgrid(*axes, indexing="ij"))[::-1]
    positions = torch.stack([*columns, torch.ones_like(columns[0])], -1).reshape(-1, len(lengths) + 1)
    return torch.matmul(positions, theta.transpose(1, 2)).reshape(-1, *lengths, len(lengths))


def _batch_norm(torch, input, running_mean, running_var, weight=None, bias=None, training=False,  # noqa: A002
                momentum=0.1, eps=1e-5):
    """Without running statistics, which the exporter makes up for a batch that it must know."""
    if running_mean is not None or not training:
        return torch.nn.functional.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    axes = [axis for axis in range(input.dim()) if axis != 1]
    shape = [1, -1] + [1] * (input.dim() - 2)
    centered = input - input.mean(axes, keepdim=True)
    result = centered / torch.sqrt((centered * centered).mean(axes, keepdim=True) + eps)
    result = result if weight is None else result * weight.reshape(shape)
    return result if bias is None else result + bias.reshape(shape)


def _instance_norm(torch, input, running_mean=None, running_var=None, weight=None, bias=None,  # noqa: A002
                   use_input_stats=True, momentum=0.1, eps=1e-5):
    """With a scale and a shift, from which the exporter learns the number of channels."""
    if weight is None and use_input_stats:
        channels = int(input.shape[1])
        weight, bias = input.new_ones(channels), input.new_zeros(channels)
    return torch.nn.functional.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum,
                                             eps)


def _attention(torch, attention, query, key, value, *args, scale=None, **options):
    """With a scale in bf16, which the exporter writes as a complex number. The query takes what it has more than the
    default."""
    if scale is None:
        return attention(query, key, value, *args, **options)
    if query.dtype != torch.bfloat16:
        return attention(query, key, value, *args, scale=scale, **options)
    factor = scale * int(query.shape[-1]) ** 0.5
    if abs(factor - 1) > 1e-6:
        query = (query.float() * factor).to(query.dtype)
    return attention(query, key, value, *args, **options)


def _pair(number):
    return list(number) if isinstance(number, (tuple, list)) else [number, number]


def _fold(torch, input, output_size, kernel_size, dilation=1, padding=0, stride=1):  # noqa: A002
    """A transposed convolution that puts each element of a column at its place in the kernel, and adds up."""
    size, kernel, dilation, padding, stride = map(_pair, (output_size, kernel_size, dilation, padding, stride))
    spans = [each * (length - 1) + 1 for each, length in zip(dilation, kernel)]
    counts = [(length + 2 * pad - span) // step + 1 for length, pad, span, step in zip(size, padding, spans, stride)]
    single = input.dim() == 2
    batch = input.unsqueeze(0) if single else input
    rows, columns = int(batch.shape[1]), kernel[0] * kernel[1]
    places = torch.eye(columns, dtype=input.dtype, device=input.device).reshape(columns, 1, *kernel)
    weight = places.repeat(rows // columns, 1, 1, 1)
    result = torch.nn.functional.conv_transpose2d(batch.reshape(-1, rows, *counts), weight, None, stride, 0, 0,
                                                  rows // columns, dilation)
    for axis, length, count, step, pad, span in zip((2, 3), size, counts, stride, padding, spans):
        covered = (count - 1) * step + span - pad  # by windows; no window may reach the last elements
        result = result.narrow(axis, pad, min(length, covered))
        if covered < length:
            result = torch.nn.functional.pad(result, [0, 0] * (3 - axis) + [0, length - covered])
    return result.squeeze(0) if single else result


def _cross_entropy(torch, input, target, weight=None, size_average=None, ignore_index=-100,  # noqa: A002
                   reduce=None, reduction="mean", label_smoothing=0.0):
    """With its smoothing, which the exporter refuses: a part of the loss of all classes."""
    functional = torch.nn.functional
    is_deprecated = size_average is not None or reduce is not None
    if label_smoothing == 0 or target.is_floating_point() or input.dim() == 1 or is_deprecated:
        return functional.cross_entropy(input, target, weight, size_average, ignore_index, reduce, reduction,
                                        label_smoothing)
    of_labels = functional.cross_entropy(input, target, weight, ignore_index=ignore_index, reduction="none")
    logarithms, counted = functional.log_softmax(input, 1), (target != ignore_index).to(input.dtype)
    if weight is not None:
        logarithms = logarithms * weight.reshape([-1] + [1] * (input.dim() - 2))
    of_classes = -logarithms.sum(1) * counted / int(input.shape[1])
    loss = (1 - label_smoothing) * of_labels + label_smoothing * of_classes
    if reduction != "mean":
        return loss if reduction == "none" else loss.sum()
    weights = counted if weight is None else counted * weight[torch.where(target != ignore_index, target, 0 * target)]
    return loss.sum() / weights.sum()
