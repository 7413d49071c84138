"""The names of a file's outputs: the keys of the dict that forward() returns, as models of transformers do. Exporters
name outputs after operations instead, or number them."""

import collections.abc


def names_in(torch, result):
    """The keys of a dict of tensors and of tuples of tensors (hidden_states_0, …), in its order; empty for anything
    else."""
    if not isinstance(result, collections.abc.Mapping):
        return []
    names = []
    for key, value in result.items():
        several = type(value) in (tuple, list)
        if not isinstance(key, str) or not all(isinstance(x, torch.Tensor) for x in (value if several else [value])):
            return []
        names += [f"{key}_{place}" for place in range(len(value))] if several else [key]
    return names


def rename(graph, names):
    """Gives the outputs of an ONNX graph these names, unless their number differs. An output keeps its name if another
    value has the new one, or if no node computes it."""
    if not names or len(names) != len(graph.output):
        return
    computed = {name for node in graph.node for name in node.output}
    taken = {each.name for each in (*graph.input, *graph.initializer)}
    taken.update(name for node in _nodes(graph) for name in node.output)
    new_names = {}
    for output, name in zip(graph.output, names):
        if output.name in computed and output.name not in new_names and name not in taken:
            new_names[output.name] = name
            taken.add(name)
    for value in (*graph.output, *graph.value_info):
        value.name = new_names.get(value.name, value.name)
    for node in _nodes(graph):
        for values in (node.input, node.output):
            for place, name in enumerate(values):
                values[place] = new_names.get(name, name)


def _nodes(graph):
    """Also those of the branches of an If, which read values of the whole graph."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _nodes(inner)
