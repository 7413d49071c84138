"""What Keras and tf2onnx do differently while a Keras model is exported for training.

Both write models for inference. Here batch normalizations and dropouts stay operators, and nothing is computed from the
variables before the file is written.
"""

import contextlib

import numpy as np

from .keras_variables import may_be_of_variables

VERSIONS = "keras 3.15, tensorflow 2.21 and tf2onnx 1.17"  # of which the patched functions are known
DROPOUT = "plimsoll dropout "  # the message of a CheckNumerics node that stands for a dropout
KEPT_FOLDS = ("Cast", "Concat", "Reshape", "Squeeze", "Transpose", "Unsqueeze")  # of constants: these move elements


@contextlib.contextmanager
def patched(model):
    """Within this context Keras and tf2onnx leave in the graph what is trained. Raises ImportError if this is not
    known of their versions."""
    with contextlib.ExitStack() as changes:
        try:
            _patch_keras(model, changes)
            _patch_tf2onnx(changes)
        except (ImportError, AttributeError, KeyError) as error:
            raise ImportError(f"plimsoll.export of a Keras model does not fit these versions ({error}); "
                              f"it is known to work with {VERSIONS}") from error
        yield


def _change(changes, owner, name, value):
    changes.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, value)


def _patch_keras(model, changes):
    import keras
    from keras.src.backend.tensorflow import nn
    from keras.src.export import tf2onnx_lib

    tf2onnx_lib.patch_tf2onnx()
    _change(changes, keras.layers.BatchNormalization, "call", _normalize)
    _change(changes, keras.layers.Dropout, "call", _drop)
    _change(changes, nn.tf, "function", _without_xla(nn.tf.function))
    layers = list(model._flatten_layers())
    masked = any(getattr(layer, "mask_zero", False) or isinstance(layer, keras.layers.Masking) for layer in layers)
    for layer in layers:
        # tf2onnx has an operator for an LSTM without a mask. All others are loops, unless they are unrolled.
        if isinstance(layer, keras.layers.RNN) and (masked or not isinstance(layer, keras.layers.LSTM)):
            _change(changes, layer, "unroll", True)


def _patch_tf2onnx(changes):
    from tf2onnx import tf_loader, tfonnx
    from tf2onnx.optimizer import back_to_back_optimizer, const_fold_optimizer

    fold = tfonnx.compute_const_folding_using_tf

    def fold_others(*args):
        # TensorFlow computes constants from constants here: shapes, but also from the variables.
        values, types = fold(*args)
        return {name: value for name, value in values.items() if not may_be_of_variables(value)}, types

    _change(changes, tf_loader, "tf_optimize_grappler", _optimize)
    _change(changes, tfonnx, "compute_const_folding_using_tf", fold_others)
    merges, folds = back_to_back_optimizer._func_map, const_fold_optimizer._func_map
    for functions, removed in ((merges, [("Conv", "BatchNormalization")]),
                               (folds, [op for op in folds if op not in KEPT_FOLDS])):
        for key in removed:
            changes.callback(functions.__setitem__, key, functions.pop(key))


def _optimize(input_names, output_names, graph_def):
    """In place of tf2onnx's tf_optimize_grappler: without constant folding, which would compute with the variables."""
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


def _without_xla(function):
    """tf.function, except that what Keras compiles with XLA (grouped convolutions) stays part of the graph."""
    def plain(*args, jit_compile=None, **kwargs):
        if jit_compile and not args and not kwargs:
            return lambda called: called
        return function(*args, jit_compile=jit_compile, **kwargs)

    return plain


def _normalize(layer, inputs, training=None, mask=None):
    """In place of BatchNormalization.call: one node of TensorFlow, which becomes one of ONNX."""
    import tensorflow as tf

    rank = len(inputs.shape)
    if getattr(layer, "renorm", False):
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
    y = tf.raw_ops.FusedBatchNormV3(x=x,
                                    scale=scale,
                                    offset=shift,
                                    mean=tf.convert_to_tensor(layer.moving_mean),
                                    variance=tf.convert_to_tensor(layer.moving_variance),
                                    epsilon=layer.epsilon,
                                    data_format="NDHWC" if rank == 5 else "NHWC",
                                    is_training=False).y
    return y if rank >= 4 else tf.reshape(y, [-1] + [d or shape[i + 1] for i, d in enumerate(inputs.shape[1:])])


def _drop(layer, inputs, training=False):
    """In place of Dropout.call: a node that `handlers` makes a Dropout of ONNX."""
    import tensorflow as tf

    if not layer.rate or layer.noise_shape is not None:
        return inputs
    return tf.raw_ops.CheckNumerics(tensor=inputs, message=f"{DROPOUT}{layer.rate}")


def handlers():
    """How tf2onnx writes the operators that it does not know, and those that stand for dropouts."""
    return {"CheckNumerics": (_write_dropout, []), "Erfc": (_write_erfc, [])}


def _write_dropout(ctx, node, name, args):
    message = node.get_attr_str("message")
    if not message.startswith(DROPOUT):
        node.type = "Identity"
        return
    ratio = _constant(ctx, "ratio", np.float32(message[len(DROPOUT):]))
    training = _constant(ctx, "training", np.array(True))
    _replace(ctx, node, "Dropout", [node.input[0], ratio, training])


def _write_erfc(ctx, node, name, args):
    erf = ctx.make_node("Erf", [node.input[0]])
    _replace(ctx, node, "Sub", [_constant(ctx, "one", np.float32(1)), erf.output[0]])


def _constant(ctx, name, value):
    from tf2onnx.utils import make_name

    return ctx.make_const(make_name(name), value).output[0]


def _replace(ctx, node, op, inputs):
    output = node.output[0]
    shape, kind = ctx.get_shape(output), ctx.get_dtype(output)
    ctx.remove_node(node.name)
    ctx.make_node(op, inputs, name=node.name, outputs=[output], shapes=[shape], dtypes=[kind])
