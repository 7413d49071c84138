"""PyTorch's ctc_loss, which no exporter can write, in operators that both know."""

import functools
import inspect

from . import refusals

IMPOSSIBLE = -1e30  # the logarithm of a probability of 0: finite, because a difference of infinities is not a number


class Rows:
    """The rows from which forward() selects labels. Models of transformers concatenate the targets by
    labels.masked_select(labels >= 0), because a negative label is padding after a row's last label."""

    def __init__(self, torch):
        self._tensor = torch.Tensor
        self._select = (torch.masked_select, torch.Tensor.masked_select)
        self._rows = {}  # id of a selection → the selection, which keeps the id from being used again, rows, mask

    def remember(self, function, args, kwargs, result):
        if function in self._select and len(args) == 2 and not kwargs and args[0].dim() == 2:
            self._rows[id(result)] = result, *args

    def of(self, targets):
        if id(targets) not in self._rows:
            return targets
        _, rows, mask = self._rows[id(targets)]
        # In dynamo's exporter, tensors are of another class and have no values.
        if type(mask) is self._tensor and mask.shape == rows.shape and (mask[:, 1:] & ~mask[:, :-1]).any():
            raise refusals.Refused("ctc_loss() can be exported for labels that masked_select() takes if they are the "
                                   "first of each row, with the padding after them")
        return rows


def form_of(torch, function, args, kwargs, rows):
    """A function without arguments that computes the loss of this call."""
    call = inspect.signature(function).bind(*args, **(kwargs or {}))
    call.apply_defaults()
    call.arguments["targets"] = rows.of(call.arguments["targets"])
    if call.arguments["log_probs"].dim() != 3 or call.arguments["targets"].dim() != 2:
        raise refusals.Refused(
            "ctc_loss() can be exported for log_probs [T,N,C] with a row of targets for each sample, [N,S], which ends "
            "in any labels after its target_length. Concatenated targets have a length that depends on data"
        )
    return functools.partial(_ctc_loss, torch, **call.arguments)


def _ctc_loss(torch, log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    """The forward recursion of Graves et al. 2006, one step for each frame. The states of a sample are a blank, its
    first label, a blank, … its last label, a blank. PyTorch's gradient is that of a log_softmax() before the loss; this
    one is the derivative, also without a log_softmax()."""
    input_lengths, target_lengths = (
        torch.as_tensor(lengths, device=log_probs.device).long() for lengths in (input_lengths, target_lengths)
    )
    labels = targets.long().clamp(0, log_probs.shape[2] - 1)  # the padding may be any number
    blanks = torch.full_like(labels, blank)
    states = torch.cat([torch.stack([blanks, labels], 2).flatten(1), blanks[:, :1]], 1)
    of_frames = log_probs.transpose(0, 1).gather(2, states.unsqueeze(1).expand(-1, log_probs.shape[0], -1)).unbind(1)

    none = torch.full_like(of_frames[0][:, :1], IMPOSSIBLE)
    # Two states on is a different label: a path may leave out the blank between them.
    skipping = torch.where(states[:, 2:] != states[:, :-2], torch.zeros_like(none), none)
    # Before the first frame, every path is at the first blank.
    paths = torch.cat([torch.zeros_like(none), torch.full_like(of_frames[0][:, 1:], IMPOSSIBLE)], 1)
    for frame, scores in enumerate(of_frames):
        from_last = torch.cat([none, paths[:, :-1]], 1)
        from_label = torch.cat([none, none, paths[:, :-2] + skipping], 1)
        reached = torch.logsumexp(torch.stack([paths, from_last, from_label], 1), 1) + scores
        paths = torch.where((input_lengths > frame).unsqueeze(1), reached, paths)

    end = (2 * target_lengths).unsqueeze(1)
    at_label = torch.where(end > 0, paths.gather(1, (end - 1).clamp(min=0)), none)
    loss = -torch.logsumexp(torch.cat([paths.gather(1, end), at_label], 1), 1)
    without_path = torch.zeros_like(loss) if zero_infinity else torch.full_like(loss, float("inf"))
    loss = torch.where(loss > -IMPOSSIBLE / 10, without_path, loss)
    if reduction == "mean":
        return (loss / target_lengths.clamp(min=1)).mean()
    return loss.sum() if reduction == "sum" else loss
