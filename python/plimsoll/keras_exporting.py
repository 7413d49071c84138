"""Writes a Keras model as ONNX for training.

Keras's own export and tf2onnx write models for inference: they fold batch normalizations into convolutions, drop biases
of zero and scales of one, which are those of every new model, and merge tensors that are equal. So `export` gives every
variable elements that are unlike each other while tf2onnx runs, recognizes the variables in the file by these, and
then writes their own elements into it. Batch normalizations and dropouts are exported as operators.
"""

import contextlib
import json
import re
import warnings

import numpy as np

# The elements of all variables are numbered. As f32 they are 3.7e19 and more: nobody's constants, and none is special.
FIRST, LAST = 0x60000000, 0x7F000000
DROPOUT = "plimsoll dropout "  # the message of a CheckNumerics node that stands for a dropout
MOST_PARTS = 64  # of a tensor that tf2onnx puts together from several variables
OPSET = 17  # up to this one the axes of a mean are an attribute: tf2onnx then moves transpositions past it
KEPT_FOLDS = ("Cast", "Concat", "Reshape", "Squeeze", "Transpose", "Unsqueeze")  # of constants: these move elements
INACTIVE = ("SpatialDropout", "StochasticDepth", "Gaussian", "AlphaDropout", "Random", "AugMix", "CutMix", "MixUp")


def is_keras(model):
    """Without importing Keras."""
    return any(k.__module__.partition(".")[0] == "keras" and k.__name__ == "Model" for k in type(model).__mro__)


def export(model, path, *, allow_unused=False):
    """Exports the Keras model to the file `path`; see plimsoll.export."""
    proto, found = _convert(model)
    variables = _named(model)
    missing = [v.path for v in model.trainable_variables if v.path not in found]
    if missing and not allow_unused:
        raise ValueError(
            f"{len(missing)} trainable variable(s) of the model are not in the file: {', '.join(missing[:5])}"
            f"{', …' if len(missing) > 5 else ''}. Either the model's output does not depend on them (then pass "
            "allow_unused=True), or the exporter computed something else from them, which could not be trained")
    trained = {v.path for v in model.trainable_variables}
    for initializer in proto.graph.initializer:
        if initializer.name in found:
            order = found[initializer.name]
            elements = np.asarray(_elements(variables[initializer.name]), np.float32).ravel()[order]
            initializer.raw_data = elements.astype("<f4").tobytes()
    notes = {
        "schema": 1,
        "trained": [name for name in found if name in trained],
        "frozen": [name for name in found if name not in trained and not _is_statistic(name)],
        "buffers": [name for name in found if _is_statistic(name)],
        "inputs": [value.name for value in proto.graph.input],
        "modes": "stated",
    }
    proto.metadata_props.add(key="plimsoll.export", value=json.dumps(notes))
    _warn_of_what_is_inactive(model)
    import onnx

    onnx.save(proto, str(path))
    return path


def load(model, path):
    """Copies the weights of a file that a trainer has saved (--save) into the Keras model that the trainer's model was
    exported from. Returns the number of variables."""
    import onnx
    from onnx import numpy_helper

    saved = {initializer.name: initializer for initializer in onnx.load(str(path)).graph.initializer}
    _, found = _convert(model)
    absent = [name for name in found if name not in saved]
    if absent:
        raise ValueError(f"'{path}' has no initializer '{absent[0]}': it is not the model that plimsoll.export wrote")
    variables = _named(model)
    for name, order in found.items():
        elements = numpy_helper.to_array(saved[name]).ravel()
        if elements.size != order.size:
            raise ValueError(f"'{name}' has {elements.size} elements in '{path}', and {order.size} in the model")
        values = np.empty(order.size, np.float32)
        values[order.ravel()] = elements
        variables[name].assign(values.reshape(tuple(variables[name].shape)))
    return len(found)


def _elements(variable):
    import keras

    return keras.ops.convert_to_numpy(variable)


def _is_statistic(name):
    return name.rpartition("/")[2] in ("moving_mean", "moving_variance")


def _named(model):
    variables = {v.path: v for v in model.variables if "float" in str(v.dtype)}
    count = sum("float" in str(v.dtype) for v in model.variables)
    if len(variables) != count:
        raise ValueError("two variables of the model have the same path: give the layers names of their own")
    return variables


def _warn_of_what_is_inactive(model):
    layers = list(model._flatten_layers())
    names = [layer.name for layer in layers if type(layer).__name__.startswith(INACTIVE)]
    names += [layer.name for layer in layers
              if getattr(layer, "recurrent_dropout", 0) or (getattr(layer, "dropout", 0) and hasattr(layer, "cell"))]
    if names:
        warnings.warn(f"the file has no counterpart of these layers' behaviour in training: {', '.join(names[:5])}"
                      f"{', …' if len(names) > 5 else ''}. They are exported as in inference", stacklevel=3)
    if model.losses:
        warnings.warn("the file has no regularizers and no added losses: weight decay is an option of "
                      "plimsoll compile", stacklevel=3)


@contextlib.contextmanager
def _numbered(variables):
    """While it lasts, the elements of all variables are numbers of their own."""
    values = {name: _elements(v) for name, v in variables.items()}
    if sum(value.size for value in values.values()) > LAST - FIRST:
        raise ValueError("the model has too many parameters to be exported")
    at = FIRST
    for name, value in values.items():
        variables[name].assign(np.arange(at, at + value.size, dtype=np.uint32).view(np.float32).reshape(value.shape))
        at += value.size
    try:
        yield
    finally:
        for name, value in values.items():
            variables[name].assign(value)


def _may_be_of_variables(value):
    """Whether the elements may have been computed from numbered elements, which are very large."""
    value = np.asarray(value)
    if value.dtype.kind != "f" or value.size == 0:
        return False
    size = np.abs(value[value != 0])
    return bool((~np.isfinite(size) | (size > 1e9) | (size < 1e-15)).any())


def _normalize(layer, inputs, training=None, mask=None):
    """In place of BatchNormalization.call: one node of TensorFlow, which becomes one of ONNX."""
    import tensorflow as tf

    rank = len(inputs.shape)
    if layer.renorm if hasattr(layer, "renorm") else False:
        raise ValueError(f"layer '{layer.name}': batch renormalization cannot be exported")
    if mask is not None:
        raise ValueError(f"layer '{layer.name}': a batch normalization of masked steps cannot be exported")
    if layer.axis not in (-1, rank - 1) or rank > 5:
        raise ValueError(f"layer '{layer.name}': only a batch normalization over the last axis can be exported")
    x, shape = inputs, tf.shape(inputs)
    if rank < 4:
        x = tf.reshape(x, [-1] + [1] * (4 - rank) + [d or -1 for d in inputs.shape[1:]])
    count = inputs.shape[-1]
    scale = tf.convert_to_tensor(layer.gamma) if layer.scale else tf.ones([count])
    shift = tf.convert_to_tensor(layer.beta) if layer.center else tf.zeros([count])
    y = tf.raw_ops.FusedBatchNormV3(
        x=x, scale=scale, offset=shift, mean=tf.convert_to_tensor(layer.moving_mean),
        variance=tf.convert_to_tensor(layer.moving_variance), epsilon=layer.epsilon,
        data_format="NDHWC" if rank == 5 else "NHWC", is_training=False).y
    return y if rank >= 4 else tf.reshape(y, [-1] + [d or shape[i + 1] for i, d in enumerate(inputs.shape[1:])])


def _drop(layer, inputs, training=False):
    import tensorflow as tf

    if not layer.rate or layer.noise_shape is not None:
        return inputs
    return tf.raw_ops.CheckNumerics(tensor=inputs, message=f"{DROPOUT}{layer.rate}")


@contextlib.contextmanager
def _patched(model):
    """While it lasts, Keras and tf2onnx leave in the graph what is trained."""
    import keras
    import tf2onnx
    from tf2onnx import tf_loader, tfonnx
    from tf2onnx.optimizer import back_to_back_optimizer, const_fold_optimizer

    changed = []

    def change(owner, name, value):
        changed.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def optimize(input_names, output_names, graph_def):
        # tf2onnx's tf_optimize_grappler without constant folding, which would compute with the variables.
        import tensorflow as tf
        from tensorflow.core.protobuf import config_pb2, meta_graph_pb2
        from tensorflow.python.grappler import tf_optimizer

        config = config_pb2.ConfigProto()
        config.graph_options.infer_shapes = True
        config.graph_options.rewrite_options.optimizers[:] = ["function", "dependency"]
        meta_graph = tf.compat.v1.train.export_meta_graph(graph_def=graph_def)
        fetched = meta_graph_pb2.CollectionDef()
        fetched.node_list.value.extend([*input_names, *output_names])
        meta_graph.collection_def["train_op"].CopyFrom(fetched)
        return tf_optimizer.OptimizeGraph(config, meta_graph)

    def compute(*args):
        # TensorFlow computes constants from constants here: shapes, but also from the variables.
        values, types = fold(*args)
        return {name: value for name, value in values.items() if not _may_be_of_variables(value)}, types

    from keras.src.backend.tensorflow import nn
    from keras.src.export import tf2onnx_lib

    tf2onnx_lib.patch_tf2onnx()
    fused = {pair: back_to_back_optimizer._func_map.pop(pair) for pair in [("Conv", "BatchNormalization")]}
    folds = const_fold_optimizer._func_map
    folded = {op: folds.pop(op) for op in list(folds) if op not in KEPT_FOLDS}
    change(keras.layers.BatchNormalization, "call", _normalize)
    change(keras.layers.Dropout, "call", _drop)
    change(tf_loader, "tf_optimize_grappler", optimize)
    fold = tfonnx.compute_const_folding_using_tf
    change(tfonnx, "compute_const_folding_using_tf", compute)
    change(nn.tf, "function", _plain_function(nn.tf.function))
    layers = list(model._flatten_layers())
    masked = any(getattr(layer, "mask_zero", False) or isinstance(layer, keras.layers.Masking) for layer in layers)
    for layer in layers:
        # tf2onnx has an operator for an LSTM without a mask. All others are loops, unless they are unrolled.
        if isinstance(layer, keras.layers.RNN) and (masked or not isinstance(layer, keras.layers.LSTM)):
            change(layer, "unroll", True)
    try:
        yield tf2onnx
    finally:
        for owner, name, value in reversed(changed):
            setattr(owner, name, value)
        back_to_back_optimizer._func_map.update(fused)
        folds.update(folded)


def _plain_function(function):
    """tf.function, except that what Keras compiles with XLA (grouped convolutions) stays part of the graph."""
    def plain(*args, jit_compile=None, **kwargs):
        if jit_compile and not args and not kwargs:
            return lambda called: called
        return function(*args, jit_compile=jit_compile, **kwargs)
    return plain


def _convert(model):
    """The file's model, and for each variable that is in it its elements' positions in the file's order."""
    import keras
    import tensorflow as tf

    if keras.backend.backend() != "tensorflow":
        raise ValueError("plimsoll.export of a Keras model needs Keras's backend 'tensorflow', because tf2onnx writes "
                         f"the file; the backend is '{keras.backend.backend()}'")
    variables = _named(model)
    with _numbered(variables), _patched(model) as tf2onnx:
        signature = [tf.TensorSpec([None, *x.shape[1:]], x.dtype, name=re.sub(r"[^A-Za-z0-9_]", "_", x.name))
                     for x in model.inputs]

        def forward(*inputs):
            return model(tf.nest.pack_sequence_as(model._inputs_struct, list(inputs))
                         if hasattr(model, "_inputs_struct") else inputs[0], training=False)

        def replace(ctx, node, op, inputs):
            output = node.output[0]
            shape, kind = ctx.get_shape(output), ctx.get_dtype(output)
            ctx.remove_node(node.name)
            ctx.make_node(op, inputs, name=node.name, outputs=[output], shapes=[shape], dtypes=[kind])

        def dropout(ctx, node, name, args):
            message = node.get_attr_str("message")
            if not message.startswith(DROPOUT):
                node.type = "Identity"
                return
            ratio = ctx.make_const(tf2onnx.utils.make_name("ratio"), np.float32(message[len(DROPOUT):]))
            active = ctx.make_const(tf2onnx.utils.make_name("training"), np.array(True))
            replace(ctx, node, "Dropout", [node.input[0], ratio.output[0], active.output[0]])

        def erfc(ctx, node, name, args):
            erf = ctx.make_node("Erf", [node.input[0]])
            one = ctx.make_const(tf2onnx.utils.make_name("one"), np.float32(1))
            replace(ctx, node, "Sub", [one.output[0], erf.output[0]])

        function = tf.function(forward, input_signature=signature, autograph=False)
        proto, _ = tf2onnx.convert.from_function(
            function, signature, opset=OPSET,
            custom_op_handlers={"CheckNumerics": (dropout, []), "Erfc": (erfc, [])})
        captured = {inner.name: outer for outer, inner in function.get_concrete_function(*signature).graph.captures}
        _keep_constants(proto, len(signature), captured)
    found = _recognize(proto, variables)
    _name_outputs(proto, model)
    _state_modes(proto, model)
    return proto, found


def _keep_constants(proto, count, captured):
    """Tensors that layers hold, as Normalization its mean, are inputs of the function after those of the model."""
    from onnx import numpy_helper

    for value in list(proto.graph.input)[count:]:
        proto.graph.initializer.append(numpy_helper.from_array(captured[value.name].numpy(), value.name))
        proto.graph.input.remove(value)


def _recognize(proto, variables):
    """Names the initializers after their variables, and splits those that hold several."""
    from onnx import numpy_helper

    names = list(variables)
    starts = np.cumsum([0] + [int(np.prod(variables[name].shape)) for name in names])
    found, shapes, renamed, joins, changed = {}, {}, {}, [], []
    for initializer in proto.graph.initializer:
        if initializer.data_type != 1:
            changed.append(initializer)
            continue
        array = numpy_helper.to_array(initializer)
        ids = np.ascontiguousarray(array).view(np.uint32).astype(np.int64) - FIRST
        owner = _owners(ids, starts)
        if ids.size == 0 or (owner < 0).all():
            changed.append(initializer)
            continue

        def add(begin, part, of):
            """The name of an initializer with this part of the tensor, which belongs to one variable or none."""
            if of < 0:
                changed.append(numpy_helper.from_array(np.ascontiguousarray(part), f"{begin}/constant"))
                return changed[-1].name
            order = np.ascontiguousarray(part).view(np.uint32).astype(np.int64).ravel() - FIRST - starts[of]
            name = names[of]
            there = np.zeros(starts[of + 1] - starts[of], bool)
            there[order] = True
            if order.size != there.size or not there.all():
                raise ValueError(f"the exporter split variable '{name}', which cannot be trained in parts")
            if name not in found:
                changed.append(numpy_helper.from_array(np.ascontiguousarray(part), name))
                found[name], shapes[name] = order, part.shape
            elif not np.array_equal(found[name], order) or shapes[name] != part.shape:
                raise ValueError(f"variable '{name}' is in the file in two forms, which would be trained apart")
            return name

        def split(output, part, owners):
            """The name of a value with these elements: an initializer, or the output of a Concat."""
            if (owners == owners.flat[0]).all():
                return add(output, part, int(owners.flat[0]))
            for axis in range(owners.ndim):
                rows = np.moveaxis(owners, axis, 0).reshape(owners.shape[axis], -1)
                cuts = [0, *(np.flatnonzero((rows[1:] != rows[:-1]).any(1)) + 1).tolist(), len(rows)]
                if 2 < len(cuts) <= MOST_PARTS:
                    at = [tuple([slice(None)] * axis + [slice(*ends)]) for ends in zip(cuts, cuts[1:])]
                    joins.append((axis, [split(f"{output}/{i}", part[p], owners[p]) for i, p in enumerate(at)], output))
                    return output
            raise ValueError("the exporter mixed the elements of several variables, which could not be trained")

        whole = split(initializer.name, array, owner)
        if whole != initializer.name:
            renamed[initializer.name] = whole
    del proto.graph.initializer[:]
    proto.graph.initializer.extend(changed)
    for node in proto.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = renamed.get(name, name)
    _add_joins(proto, joins)
    return found


def _owners(ids, starts):
    """For each number the variable that it is an element of; -1: none."""
    def owner(numbers):
        known = (numbers >= 0) & (numbers < starts[-1])
        return np.where(known, np.searchsorted(starts, numbers, side="right") - 1, -1)

    if ids.size == 0:
        return owner(ids)
    low, high = owner(ids.min()), owner(ids.max())
    return np.broadcast_to(low, ids.shape) if low == high and low >= 0 else owner(ids)


def _add_joins(proto, joins):
    from onnx import helper

    nodes = [helper.make_node("Concat", parts, [name], name=f"{name}/join", axis=axis) for axis, parts, name in joins]
    rest = list(proto.graph.node)
    del proto.graph.node[:]
    proto.graph.node.extend([*nodes, *rest])


def _name_outputs(proto, model):
    """The file's outputs have the names of the layers that make them."""
    taken = {name for node in proto.graph.node for name in node.output} | {v.name for v in proto.graph.input}
    names = list(getattr(model, "output_names", []))
    if len(names) != len(proto.graph.output) or len(set(names)) != len(names) or taken & set(names):
        return
    renamed = {output.name: name for output, name in zip(proto.graph.output, names)}
    for output in proto.graph.output:
        output.name = renamed[output.name]
    for node in proto.graph.node:
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                names[i] = renamed.get(name, name)


def _state_modes(proto, model):
    """The mode of each batch normalization is that of its layer: trained, unless the layer or the model is frozen."""
    import keras
    from onnx import helper

    layers = {layer.moving_mean.path: layer for layer in model._flatten_layers()
              if isinstance(layer, keras.layers.BatchNormalization)}
    for node in proto.graph.node:
        if node.op_type != "BatchNormalization" or node.input[3] not in layers:
            continue
        layer = layers[node.input[3]]
        for attribute in [a for a in node.attribute if a.name in ("momentum", "training_mode")]:
            node.attribute.remove(attribute)
        node.attribute.append(helper.make_attribute("momentum", float(layer.momentum)))
        node.attribute.append(helper.make_attribute("training_mode", int(layer.trainable)))
