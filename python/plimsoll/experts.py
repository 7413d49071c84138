"""Mixtures of experts of the `transformers` library, in a form whose shapes do not depend on the routing.

The library computes each expert for the tokens that are routed to it. Their number is known only when the model runs,
and exporters cannot write tensors of such a size. Here every expert is computed for all tokens. The weight of an expert
that a token is not routed to is 0:

    y = Σ_e  weight(token, e) · down_e(act(gate_up_e(x)))

Results and gradients are the same, unless an expert overflows for a token that does not need it. The products take
(number of experts) / (experts of a token) times as long. Not chosen: the library's own form with constant shapes,
batched_mm, because it copies the weights of an expert for each token."""

import contextlib
import functools
import sys
import warnings


@contextlib.contextmanager
def computed_for_all_tokens(torch):
    """In this context, the classes that the library's use_experts_implementation() decorates compute all experts. At
    its end a warning says what that costs."""
    library = sys.modules.get("transformers.integrations.moe")
    interface = getattr(library, "ExpertsInterface", None)
    if interface is None:  # not imported, so no model is of it, or a version without it
        yield
        return
    chosen, seen = interface.get_interface, {}
    interface.get_interface = lambda *_: functools.partial(_every_expert, torch, seen)
    try:
        yield
    finally:
        interface.get_interface = chosen
    if seen:
        count, selected = max(seen.values(), key=lambda sizes: sizes[0] / sizes[1])
        warnings.warn(
            f"{len(seen)} mixtures of experts: the file computes all {count} experts for every token instead of "
            f"{selected}, so their products take {count / selected:.3g} times as long",
            stacklevel=4)


def _every_expert(torch, seen, experts, hidden_states, top_k_index, top_k_weights):
    """`experts` holds the weights of all experts. hidden_states: [tokens, size], the other two: [tokens, k]. Notes in
    `seen` how many experts there are, and how many of a token."""
    count, size = experts.num_experts, int(hidden_states.shape[-1])
    seen[id(experts)] = count, int(top_k_index.shape[-1])
    # [tokens, experts]. An index of `count` stands for no expert.
    is_routed = top_k_index.unsqueeze(-1) == torch.arange(count, device=top_k_index.device)
    weights = (top_k_weights.unsqueeze(-1) * is_routed.to(top_k_weights.dtype)).sum(1)

    name = "gate_up_proj" if experts.has_gate else "up_proj"
    inner = _of_all(torch, experts, name, hidden_states)
    inner = experts._apply_gate(inner) if experts.has_gate else experts.act_fn(inner)
    down = experts.down_proj if experts.is_transposed else experts.down_proj.transpose(1, 2)
    if experts.has_post_expert_norm:
        results = torch.matmul(inner.transpose(0, 1), down)  # [experts, tokens, size]
        if experts.has_bias:
            results = results + experts.down_proj_bias.unsqueeze(1)
        results = experts.post_expert_norm(results) * weights.t().unsqueeze(-1)
        return results.sum(0).to(hidden_states.dtype)
    # The sum over the experts is a part of one product.
    weighed = (inner * weights.unsqueeze(-1).to(inner.dtype)).reshape(-1, count * int(inner.shape[-1]))
    result = torch.matmul(weighed, down.reshape(-1, size))
    if experts.has_bias:
        result = result + torch.matmul(weights.to(result.dtype), experts.down_proj_bias)
    return result.to(hidden_states.dtype)


def _of_all(torch, experts, name, hidden_states):
    """The first layer of all experts: [tokens, experts, features]."""
    projection = getattr(experts, name)
    if experts.is_transposed:  # [experts, size, features]
        projection = projection.transpose(1, 2)
    count, features, size = (int(extent) for extent in projection.shape)
    result = torch.nn.functional.linear(hidden_states, projection.reshape(count * features, size))
    if experts.has_bias:
        result = result + getattr(experts, f"{name}_bias").reshape(count * features)
    return result.reshape(-1, count, features)
