"""Writes a PyTorch module as ONNX, with information that PyTorch has and ONNX has no place for.

An ONNX file holds initializers. It does not say which of them are parameters and which are buffers, which parameters
are frozen (requires_grad=False), which values are cut off from the gradient (detach(), no_grad()), and which row of an
embedding is its padding. The files of one of PyTorch's two exporters do not say either which batch normalizations are
in evaluation mode. `export` adds this to the file: as metadata of the model, one JSON object, and as the attribute
`training_mode` of each BatchNormalization.
"""

import contextlib
import functools
import inspect
import json
import os

from . import (ctc, custom_gradients, evaluation, examples, experts, keras_exporting, known_numbers, outputs, refusals,
               state, writable, written_losses)

# Read by the compiler (compiler/import/author.h).
METADATA_KEY = "plimsoll.export"
SCHEMA = 1
DOMAIN = "plimsoll.export"  # the domain of temporary nodes: _annotate replaces them, and no file keeps them
OLDEST_OPSET_WITH_MODES = 14  # the first opset with BatchNormalization's attribute training_mode


def export(
    model,
    example_inputs=None,
    path=None,
    *,
    dynamic_batch=True,
    exporter=None,
    input_names=None,
    output_names=None,
    opset_version=None,
    allow_unused=False,
    allow_state=False,
):
    """Exports `model` for training to the file `path`.

    model           a torch.nn.Module. Each of its modules is exported in its mode: after model.train(), modules put
                    back into eval() keep their statistics. Values that forward() cuts off from the gradient, by
                    detach() or no_grad(), stay cut off. Or a keras.Model, which needs no example:
                    export(model, "net.onnx"). Its only option is allow_unused.
    example_inputs  a tensor, a tuple of the arguments of model.forward(), or a dict of them by name, as tokenizers of
                    transformers return it. Values of the dict that are no tensors are constants of the file.
    dynamic_batch   the first axis of every input tensor is the batch. False: the batch of the example
                    stays in the file.
    exporter        "dynamo" or "torchscript". Default: dynamo if this PyTorch can run it, else TorchScript.
    allow_unused    by default it is an error if the file does not hold a trainable parameter. Then either forward()
                    does not use it, or the exporter computed something else from it, which could not be trained. True
                    permits it.
    allow_state     by default it is an error if forward() changes buffers that the next step reads, as spectral_norm
                    does. True permits it: the trainer starts every step from the buffers in the file.

    Raises ValueError in these two cases, if forward() calls torch.autograd.grad, or if a torch.autograd.Function has a
    backward() that is not the derivative of its forward(). Warns of modules that compute something else after eval(): a
    trainer evaluates what is in the file. Returns `path`.
    """
    if keras_exporting.is_keras(model):
        path = example_inputs if path is None else path
        others = (exporter, input_names, output_names, opset_version)
        if path is None or not dynamic_batch or allow_state or any(option is not None for option in others):
            raise TypeError("export() of a Keras model needs a path, and its only option is allow_unused: "
                            "export(model, 'net.onnx')")
        return keras_exporting.export(model, path, allow_unused=allow_unused)
    if example_inputs is None or path is None:
        raise TypeError("export() needs an example and a path: export(model, (x,), 'net.onnx')")
    import torch

    if exporter is None:
        exporter = "dynamo" if _has_dynamo(torch) else "torchscript"
    if exporter not in ("dynamo", "torchscript"):
        raise ValueError(f"exporter is {exporter!r}; it should be 'dynamo' or 'torchscript'")
    write = _by_dynamo if exporter == "dynamo" else _by_torchscript
    with examples.given(torch, model, example_inputs) as arguments, state.kept(torch, model) as values:
        if not allow_state:
            state.check(torch, model, arguments)
        evaluation.warn_of_differences(torch, model, arguments)
        with custom_gradients.recorded(torch) as functions, writable.without_validation(torch), \
                experts.computed_for_all_tokens(torch), _cuts_kept(torch, model, functions, exporter) as names:
            try:
                refusals.check_statistics(torch, model)
                write(torch, model, arguments, str(path), dynamic_batch, input_names, output_names, opset_version)
            except Exception as error:
                if cause := _cause(error, (_Differentiates, refusals.Refused)):
                    raise ValueError(refusals.said(model, cause)) from None
                _suggest(torch, error, exporter, dynamic_batch)
                raise
        try:
            custom_gradients.check(torch, model, arguments, functions)
            _annotate(torch, model, arguments, str(path), input_names, names if output_names is None else [],
                      allow_unused, values)
        except ValueError:
            os.remove(path)  # no file is better than a file that trains something else
            raise
    return path


def _has_dynamo(torch):
    if "dynamo" not in inspect.signature(torch.onnx.export).parameters:
        return False
    try:
        import onnxscript  # noqa: F401  dynamo's exporter needs it
    except ImportError:
        return False
    return True


class _Differentiates(ValueError):
    """forward() calls torch.autograd.grad."""


def _cause(error, kinds):
    """The error of one of these kinds that led to `error`; None if there is none."""
    while error is not None and not isinstance(error, kinds):
        error = error.__cause__ or error.__context__
    return error


def _suggest(torch, error, exporter, dynamic_batch):
    """Adds to an exporter's error what else may work. Python before 3.11 has no notes: the error stays as it is."""
    if not hasattr(error, "add_note"):
        return
    if exporter == "dynamo":
        error.add_note(
            "plimsoll.export: PyTorch's dynamo exporter cannot export this module. "
            + ("It may for the example's batch alone: dynamic_batch=False. The compiler still plans any --batch. "
               if dynamic_batch else "")
            + "TorchScript's may: exporter='torchscript'. It records one run on the example, so a branch that depends "
            "on data, and a number that forward() takes out of a tensor by item() or int(), stay as they are for the "
            "example."
        )
    elif _has_dynamo(torch):
        error.add_note(
            "plimsoll.export: PyTorch's TorchScript exporter cannot export this module. Dynamo's may: "
            "exporter='dynamo'."
        )


@contextlib.contextmanager
def _cuts_kept(torch, model, functions, exporter):
    """Detaches the values that forward() computes under no_grad(), because exporters leave no trace of no_grad().

    Also makes the dimension of Tensor.unfold non-negative: for a negative one, TorchScript's exporter orders the axes
    of the result differently from PyTorch. Yields a list: after the export, the names of forward()'s results, if any.
    """
    from torch.overrides import TorchFunctionMode

    def detached(value):
        if isinstance(value, torch.Tensor):
            return value.detach() if value.is_floating_point() else value
        if type(value) in (tuple, list):
            return type(value)(detached(item) for item in value)
        return value

    def unfolded(tensor, dimension, size, step):
        return tensor, dimension % max(tensor.dim(), 1), size, step

    class Cut(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function == torch.Tensor.unfold:
                args, kwargs = unfolded(*args, **(kwargs or {})), None
            function, args, kwargs = writable.form_of(torch, exporter, function, args, kwargs, rows)
            if (loss := written_losses.of_call(torch, exporter, function, args, kwargs)) is not None:
                function, args, kwargs = loss, (), None
            if functions.depth > 0:  # inside a torch.autograd.Function, whose backward() computes the gradient
                return function(*args, **(kwargs or {}))
            if function == torch.Tensor.data.__get__:
                return args[0].detach()
            if function == torch.autograd.grad:
                raise _Differentiates(
                    "forward() calls torch.autograd.grad, which PyTorch's exporters cannot write. Dynamo's exporter "
                    "writes torch.func.jvp(f, (x,), (direction,))[1], the derivative of f in a direction"
                )
            if (numbers := ranges.numbers_of(function, args, kwargs)) is not None:
                return numbers
            result = function(*args, **(kwargs or {}))
            ranges.remember(function, args, kwargs, result)
            rows.remember(function, args, kwargs, result)
            is_cut = not torch.is_grad_enabled() and function != torch.Tensor.detach
            return detached(result) if is_cut else result

    forward = model.forward
    ranges, rows = known_numbers.Ranges(torch), ctc.Rows(torch)

    @functools.wraps(forward)
    def with_cuts(*args, **kwargs):
        # If the exporter turns gradients off for the whole module, the module itself detaches nothing.
        with torch.enable_grad(), Cut():
            result = forward(*args, **kwargs)
        names[:] = outputs.names_in(torch, result)
        return result

    # Without what only a keyword can give: exporters would append its default to the positional arguments.
    parameters = [p for p in inspect.signature(forward).parameters.values() if p.kind != p.KEYWORD_ONLY]
    with_cuts.__signature__ = inspect.Signature(parameters)
    names = []
    with examples.calling(model, with_cuts):
        yield names


def _by_dynamo(torch, model, arguments, path, dynamic_batch, input_names, output_names, opset_version):
    options = {}
    if dynamic_batch:
        batch = torch.export.Dim("batch")
        shapes = tuple({0: batch} if isinstance(a, torch.Tensor) and a.dim() > 0 else None for a in arguments)
        options["dynamic_shapes"] = _as_parameters(model, shapes)
    # The exporter's optimizer would merge equal parameters and fold batch normalizations.
    program = torch.onnx.export(
        model,
        arguments,
        path,
        dynamo=True,
        optimize=False,
        verbose=False,
        input_names=input_names,
        output_names=output_names,
        opset_version=opset_version,
        **options,
    )
    if _give_values_other_names(program.model.graph):
        program.save(path, external_data=True)  # as torch.onnx.export does


def _give_values_other_names(graph):
    """The exporter names inputs after the arguments of forward(), and values after operations: the result of x.t() is
    `t`. A parameter or buffer may have the same name. ONNX then reads one tensor for both, or the file is invalid.
    Whether any input or value has a new name."""
    values = [*graph.inputs, *(value for node in graph.all_nodes() for value in node.outputs)]
    taken = {value.name for value in values} | set(graph.initializers)
    renamed = [value for value in values if value.name in graph.initializers]
    for value in renamed:
        number = 1
        while (name := f"{value.name}_value_{number}") in taken:
            number += 1
        value.name = name
        taken.add(name)
    return bool(renamed)


def _as_parameters(model, values):
    """One value for each parameter of forward(): the values for *args become one tuple."""
    kinds = [p.kind for p in inspect.signature(model.forward).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        return values
    named = kinds.index(inspect.Parameter.VAR_POSITIONAL)
    return values if len(values) <= named else (*values[:named], values[named:])


def _by_torchscript(torch, model, arguments, path, dynamic_batch, input_names, output_names, opset_version):
    # Only tensors become inputs of the file: the exporter keeps other arguments as constants.
    tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
    if input_names is None:
        input_names = _names_of_tensors(torch, model, arguments)
    axes = {}
    if dynamic_batch:
        axes = {name: {0: "batch"} for name, a in zip(input_names, tensors) if a.dim() > 0}
    options = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    opset = opset_version or (17 if _is_torch_2(torch) else 15)
    # TorchScript's exporter drops detach(). So it is exported as a node of our own, and _annotate makes it an Identity.
    torch.onnx.register_custom_op_symbolic("aten::detach", _detach_as_node, opset)
    try:
        _export_by_torchscript(torch, model, arguments, path, input_names, output_names, opset, axes, options)
    finally:
        torch.onnx.unregister_custom_op_symbolic("aten::detach", opset)


def _detach_as_node(graph, value):
    return graph.op(f"{DOMAIN}::Detach", value).setType(value.type())


def _export_by_torchscript(torch, model, arguments, path, input_names, output_names, opset, axes, options):
    torch.onnx.export(
        model,
        arguments,
        path,
        training=torch.onnx.TrainingMode.PRESERVE,
        do_constant_folding=False,
        input_names=input_names,
        output_names=output_names,
        opset_version=opset,
        dynamic_axes=axes,
        custom_opsets={DOMAIN: 1},
        **options,
    )


def _is_torch_2(torch):
    return int(torch.__version__.partition(".")[0]) >= 2


def _names_of_inputs(model, count):
    names = [
        name
        for name, p in inspect.signature(model.forward).parameters.items()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return names[:count] if len(names) >= count else [f"input_{i}" for i in range(count)]


def _names_of_tensors(torch, model, arguments):
    """The names of the tensors among the arguments: the file's inputs have them if the caller names none."""
    names = _names_of_inputs(model, len(arguments))
    return [name for name, a in zip(names, arguments) if isinstance(a, torch.Tensor)]


def _annotate(torch, model, arguments, path, input_names, output_names, allow_unused, values):
    import onnx

    proto = onnx.load(path, load_external_data=False)
    outputs.rename(proto.graph, output_names)
    initializers = {initializer.name for initializer in proto.graph.initializer}
    # An export for evaluation merges equal parameters, and leaves an Identity with the name of the second one.
    initializers |= {
        node.output[0] for node in proto.graph.node if node.op_type == "Identity" and node.input[0] in initializers
    }
    parameters, buffers = _parameters_of(model), dict(model.named_buffers())
    trained = [name for name, p in parameters.items() if p.requires_grad and name in initializers]
    # A shared parameter is in the file once, under one of its names.
    there = {id(parameters[name]) for name in parameters if name in initializers}
    missing = [name for name, p in parameters.items() if p.requires_grad and id(p) not in there]
    if missing and not allow_unused:
        raise ValueError(
            f"{len(missing)} trainable parameter(s) of the module are not in '{path}': {', '.join(missing[:5])}"
            f"{', …' if len(missing) > 5 else ''}. Either forward() does not use them (then pass allow_unused=True), "
            "or the exporter computed something else from them, which could not be trained (then try the other "
            "exporter)"
        )
    notes = {
        "schema": SCHEMA,
        "trained": trained,
        "frozen": [name for name, p in parameters.items() if not p.requires_grad and name in initializers],
        "buffers": [name for name in buffers if name in initializers],
        "inputs": _inputs(torch, proto, model, arguments, input_names),
    }
    if detached := _detached(proto):
        notes["detached"] = detached
    if missing:
        notes["unused"] = missing
    padding = _padding(model, parameters, initializers)
    if padding:
        notes["padding"] = padding
    if _state_modes(onnx, proto, model):
        notes["modes"] = "stated"
    _undo_updates(torch, proto, values)
    for entry in [entry for entry in proto.metadata_props if entry.key == METADATA_KEY]:
        proto.metadata_props.remove(entry)
    proto.metadata_props.add(key=METADATA_KEY, value=json.dumps(notes))
    onnx.save(proto, path)


def _undo_updates(torch, proto, values):
    """TorchScript's exporter writes buffers after forward() has updated them, as normalizations do. Writes `values`."""
    for initializer in proto.graph.initializer:
        value = values.get(initializer.name)
        if value is not None and list(initializer.dims) == list(value.shape):
            data = value.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
            if len(initializer.raw_data) == len(data):  # none if the data is in another file
                initializer.raw_data = data


def _inputs(torch, proto, model, arguments, input_names):
    """The name of each tensor argument, in order. TorchScript's exporter leaves inputs out that nothing reads."""
    names = [value.name for value in proto.graph.input]
    tensors = sum(isinstance(a, torch.Tensor) for a in arguments)
    return names if len(names) == tensors else list(input_names or _names_of_tensors(torch, model, arguments))


def _detached(proto):
    """The outputs of the Identity nodes that stand for a detach(). Detach nodes of TorchScript's export become such."""
    names = []
    for node in proto.graph.node:
        if node.domain == DOMAIN and node.op_type == "Detach":
            node.op_type, node.domain = "Identity", ""
            names.append(node.output[0])
        elif node.op_type == "Identity" and any(
                "torch.ops.aten.detach.default" in e.value for e in node.metadata_props):
            names.append(node.output[0])
    for domain in [domain for domain in proto.opset_import if domain.domain == DOMAIN]:
        proto.opset_import.remove(domain)
    return names


def _padding(model, parameters, initializers):
    """The padding row of each embedding by the name of its table in the file, which may be that of another module."""
    rows = {
        id(module.weight): module.padding_idx
        for module in model.modules()
        if isinstance(getattr(module, "padding_idx", None), int) and getattr(module, "weight", None) is not None
    }
    return {name: rows[id(p)] for name, p in parameters.items() if id(p) in rows and name in initializers}


def _parameters_of(model):
    parameters = {}
    for prefix, module in model.named_modules(remove_duplicate=False):
        for name, parameter in module._parameters.items():
            if parameter is not None:
                parameters[f"{prefix}.{name}" if prefix else name] = parameter
    return parameters


def _state_modes(onnx, proto, model):
    """Writes the mode of each batch normalization, found by the name of its running mean. Whether all were found."""
    opset = max((i.version for i in proto.opset_import if i.domain in ("", "ai.onnx")), default=0)
    if opset < OLDEST_OPSET_WITH_MODES:
        return False
    modules, every = dict(model.named_modules()), True
    makers = {name: node for node in proto.graph.node for name in node.output}
    graphs = [proto.graph.node] + [function.node for function in proto.functions]
    for node in (node for nodes in graphs for node in nodes if node.op_type == "BatchNormalization"):
        mean = node.input[3]
        while mean in makers and makers[mean].op_type == "Identity":  # the module is called several times
            mean = makers[mean].input[0]
        if mean in makers:
            continue  # the mean is computed, so there are no running statistics to keep
        module = modules.get(mean.rpartition(".")[0])
        if module is None or getattr(module, "running_mean", None) is None:
            every = False
            continue
        for attribute in [a for a in node.attribute if a.name == "training_mode"]:
            node.attribute.remove(attribute)
        node.attribute.append(onnx.helper.make_attribute("training_mode", int(module.training)))
    return every
