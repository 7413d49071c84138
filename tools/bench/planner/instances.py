"""Small training graphs with synthetic bytes and seconds, in the text form that recompute_only reads.

Bytes are in units of 256, the alignment of an arena. Seconds are integers, so that exact answers are exact.
"""
import random

UNIT = 256


class Net:
    """Forward operators in order. text() adds the loss and the backward tasks of training, in reverse.

    A value with several readers has a gradient from each reader; the backward task of its producer reads all of them.
    """

    def __init__(self, name):
        self.name = name
        self.bytes = {}  # tensor: units
        self.ops = []
        self.tensor("y0", 1)
        self.last = "y0"

    def tensor(self, name, units):
        self.bytes[name] = units
        return name

    def op(self, name, inputs, units, forward, backward, reads=(), reads_output=False, stash=0):
        """`reads`: the inputs that the backward task reads; `stash`: units that the forward saves for it."""
        output = self.tensor("y_" + name, units)
        writes = [output] + ([self.tensor("s_" + name, stash)] if stash else [])
        self.ops.append(dict(name=name, inputs=list(inputs), output=output, writes=writes, forward=forward,
                             backward=backward, reads=list(reads) + ([output] if reads_output else []) + writes[1:]))
        self.last = output
        return output

    def tasks(self):
        """(name, kind, seconds, reads, writes) in order."""
        rows = [("data", "once", 0, [], ["y0"])]
        for op in self.ops:
            rows.append((op["name"], "forward", op["forward"], op["inputs"], op["writes"]))
        consumers = {}
        for op in self.ops:
            for value in op["inputs"]:
                consumers.setdefault(value, []).append(op["name"])
        consumers.setdefault(self.last, []).append("loss")
        gradient = lambda value, reader: f"d_{value}_{reader}"
        for value, readers in consumers.items():
            for reader in readers:
                self.bytes[gradient(value, reader)] = self.bytes[value]
        rows.append(("loss", "loss", 1, [self.last], [gradient(self.last, "loss")]))
        for op in reversed(self.ops):
            of_output = [gradient(op["output"], reader) for reader in consumers.get(op["output"], [])]
            of_inputs = [gradient(value, op["name"]) for value in op["inputs"]]
            if not of_output:
                raise ValueError(f"{self.name}: no operator reads {op['output']}")
            rows.append((op["name"] + "'", "backward", op["backward"], op["reads"] + of_output, of_inputs))
        return rows

    def text(self):
        rows = self.tasks()
        lines = [f"tensor {name} {units * UNIT}" for name, units in self.bytes.items()]
        lines += [
            f"task {name} {kind} {seconds} {' '.join(reads)} -> {' '.join(writes)}"
            for name, kind, seconds, reads, writes in rows
        ]
        return "\n".join(lines) + "\n"


def chain(layers, seed=None):
    """A chain, uniform without a seed. The only values are y0 … yn, so the chain DP (chain_dp.py) applies."""
    draw = random.Random(seed)
    net = Net(f"chain{layers}" if seed is None else f"chain{layers}-{seed}")
    for i in range(1, layers + 1):
        units, forward, stash = (1, 1, 0) if seed is None else (draw.randint(1, 8), draw.randint(1, 10),
                                                                draw.choice([0, 0, 1, 2]))
        net.op(f"f{i}", [net.last], units, forward, 2 * forward, reads=[net.last], stash=stash)
    return net


def resnet(blocks):
    net = Net(f"resnet{blocks}")
    net.op("stem", ["y0"], 4, 12, 24, reads=["y0"])
    net.op("pool", [net.last], 2, 1, 1, stash=1)
    for b in range(blocks):
        units = 4 if b < 2 else 2
        first, shortcut = net.last, net.last
        for half in "ab":
            value = net.op(f"conv{b}{half}", [net.last], units, 10, 20, reads=[net.last])
            net.op(f"bn{b}{half}", [value], units, 2, 3, reads=[value])
            if half == "a":
                net.op(f"relu{b}a", [net.last], units, 1, 1, reads_output=True)
        if net.bytes[shortcut] != units:
            branch = net.last
            shortcut = net.op(f"project{b}", [first], units, 3, 6, reads=[first])
            net.last = branch
        net.op(f"add{b}", [net.last, shortcut], units, 1, 1)
        net.op(f"relu{b}b", [net.last], units, 1, 1, reads_output=True)
    net.op("mean", [net.last], 1, 1, 1)
    return net


def unet(levels):
    net = Net(f"unet{levels}")

    def double(name, units, seconds):
        value = net.last
        net.op(f"conv{name}", [value], units, seconds, 2 * seconds, reads=[value])
        net.op(f"relu{name}", [net.last], units, 1, 1, reads_output=True)

    skips = []
    for level in range(levels):
        double(f"d{level}", 16 >> level, 12)
        skips.append(net.last)
        net.op(f"pool{level}", [net.last], 8 >> level, 1, 1, stash=1)
    double("m", 16 >> levels, 12)
    for level in reversed(range(levels)):
        up = net.op(f"up{level}", [net.last], 16 >> level, 4, 8, reads=[net.last])
        joined = net.op(f"cat{level}", [up, skips[level]], 32 >> level, 2, 2)
        double(f"u{level}", 16 >> level, 20)
    net.op("head", [net.last], 2, 2, 4, reads=[net.last])
    return net


def random_net(seed, size):
    """A random graph: fan-out, short and long skips. Backward tasks read inputs, outputs, a saved tensor or nothing."""
    draw = random.Random(seed)
    net = Net(f"random{size}-{seed}")
    values, unread = ["y0"], []
    for i in range(size):
        inputs = [values[-1]]
        for _ in range(draw.choice([0, 0, 0, 1])):
            back = draw.randint(1, 12) if draw.randrange(4) == 0 else draw.randint(1, 3)
            value = values[max(0, len(values) - 1 - back)]
            if value not in inputs:
                inputs.append(value)
        forward = draw.choice([1, 1, 2, 3, 8, 12])
        values.append(
            net.op(f"f{i}", inputs, draw.randint(1, 4), forward, 2 * forward,
                   reads=[value for value in inputs if draw.randrange(2)], reads_output=draw.randrange(3) == 0,
                   stash=draw.choice([0, 0, 0, 1])))
    return net


def small():
    """Graphs of at most 64 tasks each, which a MILP can solve."""
    nets = [chain(12), chain(20), chain(31), chain(12, 1), chain(20, 2), chain(31, 3), resnet(1), resnet(2), resnet(3),
            unet(2), unet(3), random_net(3, 14), random_net(3, 20), random_net(5, 20), random_net(3, 31)]
    for net in nets:
        assert len(net.tasks()) <= 64, (net.name, len(net.tasks()))
    return nets


def long_chains():
    return [chain(50), chain(100), chain(50, 4), chain(100, 5)]
