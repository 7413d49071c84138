"""Numbers in tensors that are known while a module is exported."""


class Ranges:
    """The ranges of known numbers that forward() makes, by tensor.

    Libraries list axes as torch.arange(2, x.dim()).tolist(), as MONAI's losses do. Dynamo's exporter takes the numbers
    in a tensor for data and refuses them as axes, although they are known.
    """

    def __init__(self, torch):
        self._torch = torch
        # id of a tensor → the tensor, which keeps the id from being used again, its version, and its number or range
        self._known = {}

    def numbers_of(self, function, args, kwargs):
        """What tolist() or item() returns for a range of known numbers; None for other calls and tensors."""
        if kwargs or len(args) != 1 or function not in (self._torch.Tensor.tolist, self._torch.Tensor.item):
            return None
        numbers = self._numbers_in(args[0])
        if not isinstance(numbers, range):
            return numbers
        if function == self._torch.Tensor.tolist:
            return list(numbers)
        return numbers[0] if len(numbers) == 1 else None  # PyTorch refuses the item() of several

    def remember(self, function, args, kwargs, result):
        """Notes the numbers in the result of arange(), and those in its parts: exporters trace tolist() as unbind()."""
        if function == self._torch.arange and args and all(type(number) is int for number in args):
            if not set(kwargs or ()) & {"start", "end", "step", "dtype", "out"}:
                self._note(result, range(*args))
        elif function == self._torch.Tensor.unbind and args:
            for part, number in zip(result, self._numbers_in(args[0]) or ()):  # the only axis
                self._note(part, number)

    def _note(self, tensor, numbers):
        if not tensor.is_inference():  # which has no version
            self._known[id(tensor)] = tensor, tensor._version, numbers

    def _numbers_in(self, tensor):
        """None if they are not known, or if forward() has changed the tensor since."""
        known = self._known.get(id(tensor))
        return known[2] if known and tensor._version == known[1] else None
