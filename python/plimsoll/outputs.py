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
    """Gives the outputs of an ONNX graph these names, if there is one for each. One that another value has, or of an
    output that no node computes, is left out."""
    if len(names) != len(graph.output):
        return
    computed = {name for node in graph.node for name in node.output}
    taken = computed | {each.name for each in (*graph.input, *graph.initializer)}
    new_names = {}
    for output, name in zip(graph.output, names):
        if output.name in computed and output.name not in new_names and name not in taken:
            new_names[output.name] = name
            taken.add(name)
    for value in (*graph.output, *graph.value_info):
        value.name = new_names.get(value.name, value.name)
    _rename_in_nodes(graph, new_names)


def _rename_in_nodes(graph, new_names):
    for node in graph.node:
        for values in (node.input, node.output):
            for place, name in enumerate(values):
                values[place] = new_names.get(name, name)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):  # the branches of an If read values of the whole graph
                _rename_in_nodes(inner, new_names)
