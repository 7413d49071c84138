"""Writes a Keras model as ONNX for training, and reads the trained weights.

Keras's own export and tf2onnx write models for inference: they fold batch normalizations into convolutions, drop biases
of zero and scales of one, which are those of every new model, and merge tensors that are equal. `export` makes them
keep all of these (keras_patching.py), and names the initializers after the variables (keras_variables.py).
"""

import importlib.util
import json
import re
import warnings

import numpy as np

from . import keras_patching, keras_variables

OPSET = 17  # up to this one the axes of a mean are an attribute: tf2onnx then moves transpositions past it
# Layers that do something else in training, which the file does not have
INACTIVE = ("SpatialDropout", "StochasticDepth", "Gaussian", "AlphaDropout", "Random", "AugMix", "CutMix", "MixUp")


def is_keras(model):
    """Without importing Keras. Also of a model of Keras 2, which is refused."""
    return any(
        k.__module__.partition(".")[0] in ("keras", "tf_keras") and k.__name__ == "Model" for k in type(model).__mro__)


def export(model, path, *, allow_unused=False):
    """Exports the Keras model to the file `path`; see plimsoll.export."""
    import onnx

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
            elements = np.asarray(keras_variables.elements(variables[initializer.name]), np.float32).ravel()[order]
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
    onnx.save(proto, str(path))
    return path


def load(model, path):
    """Copies the weights of a file that a trainer has saved (--save) into the Keras model that the trainer's model was
    exported from. Returns the number of variables."""
    import onnx
    from onnx import numpy_helper

    if not is_keras(model):
        raise TypeError(f"load() takes a keras.Model, not a {type(model).__name__}")
    saved = {initializer.name: initializer for initializer in onnx.load(str(path)).graph.initializer}
    _, found = _convert(model)
    absent = [name for name in found if name not in saved]
    if absent:
        raise ValueError(f"'{path}' has no initializer '{absent[0]}': it is not the model that plimsoll.export wrote")
    values = {}
    for name, order in found.items():
        elements = numpy_helper.to_array(saved[name]).ravel()
        if elements.size != order.size:
            raise ValueError(f"'{name}' has {elements.size} elements in '{path}', and {order.size} in the model")
        values[name] = np.empty(order.size, np.float32)
        values[name][order] = elements
    for name, variable in _named(model).items():
        if name in values:
            variable.assign(values[name].reshape(tuple(variable.shape)))
    return len(found)


def _is_statistic(name):
    return name.rpartition("/")[2] in ("moving_mean", "moving_variance")


def _named(model):
    variables = {v.path: v for v in model.variables if "float" in str(v.dtype)}
    count = sum("float" in str(v.dtype) for v in model.variables)
    if len(variables) != count:
        raise ValueError("two variables of the model have the same path: give the layers names of their own")
    return variables


def _drops_otherwise(layer):
    """The layer has a dropout that the file cannot hold: inside a recurrent layer, or of whole axes."""
    if getattr(layer, "noise_shape", None) is not None:
        return bool(layer.rate)
    return getattr(layer, "recurrent_dropout", 0) or (getattr(layer, "dropout", 0) and hasattr(layer, "cell"))


def _warn_of_what_is_inactive(model):
    layers = list(model._flatten_layers())
    names = [layer.name for layer in layers if type(layer).__name__.startswith(INACTIVE)]
    names += [layer.name for layer in layers if _drops_otherwise(layer)]
    if names:
        warnings.warn(
            f"the file has no counterpart of these layers' behaviour in training: {', '.join(names[:5])}"
            f"{', …' if len(names) > 5 else ''}. They are exported as in inference",
            stacklevel=3)
    if model.losses:
        warnings.warn("the file has no regularizers and no added losses: use plimsoll compile --weight-decay",
                      stacklevel=3)


def _check(model):
    """Raises an error that says what to do, if this model cannot be exported here."""
    import keras

    if not isinstance(model, keras.Model) or keras.__version__.startswith("2."):
        raise ValueError(
            "plimsoll.export needs a model of Keras 3 (pip install 'keras>=3'), and this is one of Keras 2")
    if keras.backend.backend() != "tensorflow":
        raise ValueError("plimsoll.export of a Keras model needs Keras's backend 'tensorflow', because tf2onnx writes "
                         f"the file; the backend is '{keras.backend.backend()}' (set KERAS_BACKEND=tensorflow)")
    if importlib.util.find_spec("tf2onnx") is None:
        raise ModuleNotFoundError("plimsoll.export of a Keras model needs tf2onnx: pip install tf2onnx", name="tf2onnx")
    if getattr(model, "inputs", None) is None:
        raise ValueError("the model has no known inputs. Make it a functional one: inputs = keras.Input(shape); "
                         "keras.Model(inputs, model(inputs))")
    narrow = [v.path for v in _named(model).values() if str(v.dtype) != "float32"]
    narrow += [layer.name for layer in model._flatten_layers() if layer.compute_dtype in ("float16", "bfloat16")]
    if narrow:
        raise ValueError(f"'{narrow[0]}' is not float32. Make the model with the dtype policy 'float32'; the precision "
                         "of the training is an option of plimsoll compile")


def _convert(model):
    """The file's model, and for each variable that is in it its elements' positions in the file's order."""
    _check(model)
    import tensorflow as tf
    import tf2onnx

    variables = _named(model)
    with keras_variables.numbered(variables), keras_patching.patched(model):
        signature = [
            tf.TensorSpec([None, *x.shape[1:]], x.dtype, name=re.sub(r"[^A-Za-z0-9_]", "_", x.name))
            for x in model.inputs
        ]

        def forward(*inputs):
            structure = getattr(model, "_inputs_struct", None)  # a Sequential has one input
            given = inputs[0] if structure is None else tf.nest.pack_sequence_as(structure, list(inputs))
            return model(given, training=False)

        function = tf.function(forward, input_signature=signature, autograph=False)
        proto, _ = tf2onnx.convert.from_function(function,
                                                 signature,
                                                 opset=OPSET,
                                                 custom_op_handlers=keras_patching.handlers())
        captured = {inner.name: outer for outer, inner in function.get_concrete_function(*signature).graph.captures}
        _keep_constants(proto, len(signature), captured)
    found = keras_variables.recognize(proto, variables)
    _name_outputs(proto, model)
    _state_modes(proto, model)
    return proto, found


def _keep_constants(proto, count, captured):
    """Tensors that layers hold, as Normalization its mean, are inputs of the function after those of the model."""
    from onnx import numpy_helper

    for value in list(proto.graph.input)[count:]:
        proto.graph.initializer.append(numpy_helper.from_array(captured[value.name].numpy(), value.name))
        proto.graph.input.remove(value)


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

    layers = {
        layer.moving_mean.path: layer
        for layer in model._flatten_layers()
        if isinstance(layer, keras.layers.BatchNormalization)
    }
    for node in proto.graph.node:
        if node.op_type != "BatchNormalization" or node.input[3] not in layers:
            continue
        layer = layers[node.input[3]]
        for attribute in [a for a in node.attribute if a.name in ("momentum", "training_mode")]:
            node.attribute.remove(attribute)
        node.attribute.append(helper.make_attribute("momentum", float(layer.momentum)))
        node.attribute.append(helper.make_attribute("training_mode", int(layer.trainable)))
