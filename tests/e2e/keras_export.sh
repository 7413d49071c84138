# plimsoll.export of new Keras models, whose biases are zero and whose scales are one: every trainable variable is
# trained, and nothing else. plimsoll.load gives Keras the weights that Keras itself has after the same step. A model
# that cannot be exported is an error that says what to do.
. "$PLIMSOLL_E2E/trainer.bash"
with_keras=$(python_with tensorflow keras tf2onnx onnx numpy)
[[ -n $with_keras ]] || { echo "skipped: no Python here has TensorFlow and Keras (tools/setup.sh keras)"; exit 77; }
export PYTHONPATH=$PLIMSOLL_SOURCE/python PYTHONDONTWRITEBYTECODE=1 KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3
export CUDA_VISIBLE_DEVICES=

cat >networks.py <<'PY'
import keras
import numpy as np
from keras import layers


def images():
    x = inputs = keras.Input((12, 12, 3))
    stem = layers.Conv2D(8, 3, padding="same")
    stem.trainable = False
    x = layers.Normalization(mean=[0.25, 0, 0], variance=[1, 4, 1])(layers.Rescaling(0.5)(x))
    x = layers.BatchNormalization(momentum=0.8)(stem(x))
    x = layers.PReLU(shared_axes=[1, 2])(x)
    skip = x
    x = layers.MaxPooling2D()(layers.SeparableConv2D(8, 3, padding="same", activation="gelu")(x))
    x = layers.Conv2DTranspose(8, 3, strides=2, padding="same")(x)
    x = layers.LayerNormalization()(layers.concatenate([x, skip]))
    x = layers.GroupNormalization(4)(layers.Conv2D(8, 3, groups=4, padding="same")(x))
    return keras.Model(inputs, layers.Conv2D(4, 1, activation="softmax")(x))


def series():
    inputs = keras.Input((6, 8))
    x = layers.Bidirectional(layers.LSTM(8, return_sequences=True))(inputs)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 8)(x, x, use_causal_mask=True))
    x = layers.GRU(8, return_sequences=True)(layers.RMSNormalization()(x))
    x = layers.BatchNormalization(scale=False)(layers.SimpleRNN(8)(x))
    return keras.Model(inputs, layers.Dense(4)(x))


def make(name):
    keras.utils.set_random_seed(1)
    model = {"images": images, "series": series}[name]()
    draw = np.random.default_rng(0)
    x = draw.normal(size=(8, *model.inputs[0].shape[1:])).astype("float32")
    return model, x, draw.integers(0, 4, (8, *model.outputs[0].shape[1:-1])).astype("int32")
PY

cat >step.py <<'PY'
"""One step of SGD by Keras, and by the trainer from the same weights."""
import sys
import keras
import numpy as np
import plimsoll
import tensorflow as tf
from networks import make

name, rate = sys.argv[1], 0.125
model, x, y = make(name)
before = {v.path: keras.ops.convert_to_numpy(v) for v in model.variables if "seed" not in v.path}
with tf.GradientTape() as tape:
    scores = model(x, training=True)
    loss = tf.reduce_mean(keras.ops.sparse_categorical_crossentropy(y, scores, from_logits=name == "series"))
trained = model.trainable_variables
for variable, gradient in zip(trained, tape.gradient(loss, [v.value for v in trained])):
    variable.assign(variable - rate * gradient)
after = {path: keras.ops.convert_to_numpy(v) for path, v in ((v.path, v) for v in model.variables) if path in before}
for variable in model.variables:
    if variable.path in before:
        variable.assign(before[variable.path])
count = plimsoll.load(model, f"{name}.trained.onnx")
assert count == len(before), (count, len(before))
for variable in model.variables:
    path = variable.path
    if path not in before:
        continue
    # A bias before a normalization has no gradient, and the running variance is PyTorch's: over one sample less.
    moved = np.abs(after[path] - before[path]).max()
    allowed = 1e-5 + 1e-3 * moved if "moving_variance" not in path else 0.2 * moved
    wrong = np.abs(keras.ops.convert_to_numpy(variable) - after[path]).max()
    assert wrong <= allowed, (path, wrong, moved)
PY

for name in images series; do
  "$with_keras" - $name 2>log <<'PY' || { cat log; fail "the exporter"; }
import json, sys
import numpy as np, onnx, plimsoll
assert "keras" not in sys.modules, "importing the package imports Keras"
from networks import make
name = sys.argv[1]
model, x, y = make(name)
before = [np.array(v) for v in model.variables]
plimsoll.export(model, name + ".onnx")
assert all((np.array(v) == old).all() for v, old in zip(model.variables, before)), "the model's weights have changed"
notes = {e.key: json.loads(e.value) for e in onnx.load(name + ".onnx").metadata_props}["plimsoll.export"]
assert set(notes["trained"]) == {v.path for v in model.trainable_variables}, notes
np.save(name + ".x.npy", x)
np.save(name + ".y.npy", y)
PY
  expect 0 plimsoll inspect $name.onnx --weights
  build_trainer $name $name.onnx --batch 8 --budget 80% --optimizer sgd
  ! grep "warning" err || fail "a warning about a model that was exported right"
  expect 0 $name/build/train --data npy:$name.x.npy,$name.y.npy --steps 1 --no-shuffle --lr 0.125 \
    --save $name.trained.onnx
  "$with_keras" step.py $name 2>log || { cat log; fail "the trainer's step is not Keras's"; }
done

"$with_keras" - 2>log <<'PY' || { cat log; fail "an error message"; }
import importlib.util, os, warnings
from unittest import mock
import keras, plimsoll
from keras import layers
from tf2onnx import tfonnx


def functional(layer):
    inputs = keras.Input((4, 4))
    return keras.Model(inputs, layers.Dense(3)(layer(inputs)))


class Subclass(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(3)

    def call(self, x):
        return self.dense(x)


def refused(kind, words, call):
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no error: {words}")
    assert not os.path.exists("refused.onnx")


def exported(model, **options):
    return lambda: plimsoll.export(model, "refused.onnx", **options)


dense = functional(layers.Dense(4))
refused(ValueError, "keras.Model(inputs, model(inputs))", exported(Subclass()))
refused(ValueError, "dtype policy 'float32'", exported(functional(layers.Dense(4, dtype="float16"))))
refused(ValueError, "dtype policy 'float32'", exported(functional(layers.Dense(4, dtype="mixed_bfloat16"))))
refused(TypeError, "its only option is allow_unused", exported(dense, exporter="dynamo"))
refused(TypeError, "needs a path", lambda: plimsoll.export(dense))
refused(TypeError, "takes a torch.nn.Module or a keras.Model", lambda: plimsoll.load(object(), "refused.onnx"))
with mock.patch.object(keras, "__version__", "2.15.0"):
    refused(ValueError, "pip install 'keras>=3'", exported(dense))
find = importlib.util.find_spec
with mock.patch.object(importlib.util, "find_spec", lambda name: None if name == "tf2onnx" else find(name)):
    refused(ModuleNotFoundError, "pip install tf2onnx", exported(dense))
# Another version of tf2onnx: what was patched before is restored.
call, fold = layers.Dropout.call, tfonnx.compute_const_folding_using_tf
del tfonnx.compute_const_folding_using_tf
refused(ImportError, "it is known to work with keras", exported(dense))
assert layers.Dropout.call is call
tfonnx.compute_const_folding_using_tf = fold
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    plimsoll.export(functional(layers.Dropout(0.5, noise_shape=(None, 1, 4), name="whole_rows")), path="noise.onnx")
assert any("training: whole_rows." in str(one.message) for one in caught), [str(one.message) for one in caught]
PY
