"""Finds the variables of a Keras model in the ONNX file that tf2onnx writes.

tf2onnx drops biases of zero and scales of one, and merges tensors that are equal: it does so by their elements. So each
element of each variable is a number of its own while tf2onnx runs. These numbers show where the elements are in the
file, in which order, and which initializers hold several variables.
"""

import contextlib

import numpy as np

# The bits of the numbers. As f32 they are 3.7e19 and more, which no constant of a model is.
FIRST, LAST = 0x60000000, 0x7F000000
MOST_PARTS = 64  # of a tensor that tf2onnx puts together from several variables


def elements(variable):
    import keras

    return keras.ops.convert_to_numpy(variable)


@contextlib.contextmanager
def numbered(variables):
    """Within this context all elements of the variables (by name) are different numbers."""
    values = {name: elements(v) for name, v in variables.items()}
    if sum(value.size for value in values.values()) > LAST - FIRST:
        raise ValueError(f"the model has more than {LAST - FIRST} parameters, which cannot be told apart")
    at = FIRST
    try:
        for name, value in values.items():
            numbers = np.arange(at, at + value.size, dtype=np.uint32).view(np.float32)
            variables[name].assign(numbers.reshape(value.shape))
            at += value.size
        yield
    finally:
        for name, value in values.items():
            variables[name].assign(value)


def may_be_of_variables(value):
    """Whether the elements may have been computed from numbered elements, which are very large."""
    value = np.asarray(value)
    if value.dtype.kind != "f" or value.size == 0:
        return False
    size = np.abs(value[value != 0].astype(np.float64))
    return bool((~np.isfinite(size) | (size > 1e9) | (size < 1e-15)).any())


def recognize(proto, variables):
    """Names the initializers after their variables, and splits those that hold several. Returns for each variable in
    the file the positions of its elements, in the file's order."""
    named = _Initializers(variables)
    names = {initializer.name: named.take(initializer) for initializer in proto.graph.initializer}
    del proto.graph.initializer[:]
    proto.graph.initializer.extend(named.all)
    for node in proto.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = names.get(name, name)
    nodes = [*named.joins, *proto.graph.node]
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    return named.found


class _Initializers:
    """The new initializers of a file, and the nodes that join those of several variables."""
    def __init__(self, variables):
        self.names = list(variables)
        # The elements of variable i are numbered from starts[i] to starts[i + 1].
        self.starts = np.cumsum([0] + [int(np.prod(v.shape)) for v in variables.values()])
        self.all, self.joins = [], []
        self.found, self.shapes = {}, {}  # of each variable in the file: the order of its elements, and its form there

    def take(self, initializer):
        """The name of a value with these elements: an initializer, or the output of a Concat."""
        from onnx import TensorProto, numpy_helper

        if initializer.data_type == TensorProto.FLOAT:
            array = numpy_helper.to_array(initializer)
            owners = self._owners(_numbers(array))
            if (owners >= 0).any():
                return self._split(initializer.name, array, owners)
        self.all.append(initializer)
        return initializer.name

    def _split(self, name, part, owners):
        """The name of a value with the elements of `part`; `name`, if it has to be joined."""
        from onnx import helper

        if (owners == owners.flat[0]).all():
            return self._add(name, part, int(owners.flat[0]))
        for axis in range(owners.ndim):
            rows = np.moveaxis(owners, axis, 0).reshape(owners.shape[axis], -1)
            cuts = [0, *(np.flatnonzero((rows[1:] != rows[:-1]).any(1)) + 1).tolist(), len(rows)]
            if not 2 < len(cuts) <= MOST_PARTS:
                continue
            parts = []
            for i, (begin, end) in enumerate(zip(cuts, cuts[1:])):
                at = tuple([slice(None)] * axis + [slice(begin, end)])
                parts.append(self._split(f"{name}/{i}", part[at], owners[at]))
            self.joins.append(helper.make_node("Concat", parts, [name], name=f"{name}/join", axis=axis))
            return name
        raise ValueError("the exporter mixed the elements of several variables, which could not be trained")

    def _add(self, name, part, owner):
        """The name of an initializer with these elements, all of which one variable owns, or none (-1)."""
        from onnx import numpy_helper

        if owner < 0:
            name = f"{name}/constant"
            self.all.append(numpy_helper.from_array(np.ascontiguousarray(part), name))
            return name
        name = self.names[owner]
        size = self.starts[owner + 1] - self.starts[owner]
        order = _numbers(part).ravel() - self.starts[owner]
        there = np.zeros(size, bool)
        there[order] = True
        if order.size != size or not there.all():
            raise ValueError(f"the exporter split variable '{name}', which cannot be trained in parts")
        if name not in self.found:
            self.all.append(numpy_helper.from_array(np.ascontiguousarray(part), name))
            self.found[name], self.shapes[name] = order, part.shape
        elif not np.array_equal(self.found[name], order) or self.shapes[name] != part.shape:
            raise ValueError(f"variable '{name}' is in the file in two forms, which would be trained apart")
        return name

    def _owners(self, numbers):
        """For each number the variable that it is an element of; -1: none."""
        def of(some):
            known = (some >= 0) & (some < self.starts[-1])
            return np.where(known, np.searchsorted(self.starts, some, side="right") - 1, -1)

        if numbers.size > 0 and of(numbers.min()) == of(numbers.max()) >= 0:
            return np.broadcast_to(of(numbers.min()), numbers.shape)  # the usual case, without a search per element
        return of(numbers)


def _numbers(array):
    """The numbers of the elements. Those that are not elements of variables are negative or too large."""
    return np.ascontiguousarray(array).view(np.uint32).astype(np.int64).reshape(array.shape) - FIRST
