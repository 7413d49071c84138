"""The exact answer for chains: rotor's recurrence (Beaumont et al., arXiv 1911.13214), on bytes as recompute_only
counts them.

best(s, t, m): the least seconds to get from "y_s and the gradient of y_t are live" to "y_s and the gradient of y_s are
live" within m units, both ends counted, including the first forward pass. Stage i is f_i and f_i'. The loss is a stage
L+1 with only a backward task.

    s           k                 t
    y_s . . . . y_k . . . . . . . d_t      run f_{s+1} … f_k, keep only y_k:  best(k, t, m - y_s), then best(s, k, m)
    y_s+saved . . . . . . . . . . d_t      or run f_{s+1}, keep its saved bytes:
                                           best(s+1, t, m - y_s - saved), then f_{s+1}'

The result is optimal among schedules that hold a checkpoint until it has been used. Schedules that drop one early and
recompute it are not considered.
"""
import numpy

INFINITE = 1e18


def solve(net, units):
    """The least seconds for every budget from 0 to `units`. `net` is a chain of instances.chain."""
    ops = net.ops
    n = len(ops)
    y = [net.bytes["y0"]] + [net.bytes[op["output"]] for op in ops]
    stash = [0] + [sum(net.bytes[w] for w in op["writes"][1:]) for op in ops] + [0]
    f = [0] + [op["forward"] for op in ops]
    b = [0] + [op["backward"] for op in ops] + [1]  # the loss takes one second
    d = y + [0]
    best = numpy.full((n + 1, n + 2, units + 1), INFINITE)

    def shifted(row, by):
        moved = numpy.full(units + 1, INFINITE)
        if by <= units:
            moved[by:] = row[:units + 1 - by]
        return moved

    def allow(row, need):
        row[:min(need, units + 1)] = INFINITE
        return row

    for t in range(1, n + 2):
        for s in range(t - 1, -1, -1):
            if t == s + 1:
                again = t <= n and stash[t] > 0
                need = y[s] + stash[t] + d[t] + d[s]
                if again:
                    need = max(need, y[s] + d[t] + y[t] + stash[t])
                best[s, t] = allow(numpy.full(units + 1, float(b[t] + (f[t] if again else 0))), need)
                continue
            least = numpy.full(units + 1, INFINITE)
            if stash[s + 1] > 0:
                need = max(y[s] + y[s + 1] + stash[s + 1] + d[t], y[s] + stash[s + 1] + d[s + 1] + d[s])
                least = allow(shifted(best[s + 1, t], y[s] + stash[s + 1]) + f[s + 1] + b[s + 1], need)
            seconds, need = 0, 0
            for k in range(s + 1, t):
                seconds += f[k]
                need = max(need, y[s] + d[t] + (y[k - 1] if k - 1 > s else 0) + y[k] + stash[k])
                if need > units:
                    break
                numpy.minimum(least, allow(shifted(best[k, t], y[s]) + best[s, k] + seconds, need), out=least)
            best[s, t] = least
    return best[0, n + 1]
