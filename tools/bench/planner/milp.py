"""Exact recomputation as a mixed integer program, after Checkmate (Jain et al., MLSys 2020), unrolled as in MONeT. The
forward pass runs once in its order. Before each backward task forward tasks may be recomputed, in their order, each at
most once.

A slot s is a place where a task may run. Its variable run[s] is 1 for the tasks of the order itself, and binary
otherwise. Each slot and forward tensor has a variable there[s, v]. It is continuous, because it is integral if run is.

    there[s, v] >= run[s]                       for tensors that the task of s reads or writes
    there[s, v] <= there[s-1, v] + run[s]       the last term only if the task of s writes v
    sum bytes(v) there[s, v] + gradients(s) <= budget
    minimize sum seconds(s) run[s]

Every schedule of ours satisfies these constraints. They also admit schedules that hold tensors, recomputed early, for a
later backward task.
"""
try:
    import numpy
except ImportError:
    numpy = None
try:
    import highspy
except ImportError:
    highspy = None
try:
    from scipy.optimize import Bounds, LinearConstraint, milp as scipy_milp
    from scipy.sparse import csr_matrix
except ImportError:
    scipy_milp = None


def solver():
    """The name of the installed solver, or None."""
    if numpy is not None and highspy is not None:
        return "HiGHS " + highspy.Highs().version()
    return "HiGHS of scipy" if scipy_milp is not None else None


class Program:
    def __init__(self):
        self.cost, self.whole, self.lower = [], [], []
        self.start, self.index, self.value, self.low, self.high = [0], [], [], [], []

    def variable(self, cost=0.0, whole=False, fixed=False):
        self.cost.append(cost)
        self.whole.append(whole)
        self.lower.append(1.0 if fixed else 0.0)
        return len(self.cost) - 1

    def row(self, terms, low, high):
        for column, value in terms:
            self.index.append(column)
            self.value.append(value)
        self.start.append(len(self.index))
        self.low.append(low)
        self.high.append(high)


def formulate(net, budget_units):
    rows = net.tasks()
    forward = [row for row in rows if row[1] in ("once", "forward")]
    loss = next(row for row in rows if row[1] == "loss")
    backward = [row for row in rows if row[1] == "backward"]
    maker = {tensor: row for row in forward for tensor in row[4]}

    def needed_from(stage):  # forward tasks that a backward task from this stage on may need recomputed
        names, stack = set(), [t for row in backward[stage:] for t in row[3] if t in maker]
        while stack:
            row = maker[stack.pop()]
            if row[0] in names or row[1] == "once":
                continue
            names.add(row[0])
            stack += [t for t in row[3] if t in maker]
        return names

    slots = [(row, False) for row in forward] + [(loss, False)]
    for stage, row in enumerate(backward):
        names = needed_from(stage)
        slots += [(f, True) for f in forward if f[0] in names] + [(row, False)]

    # Gradients are written once and freed by their last reader, so their bytes are constants.
    written = {tensor: s for s, (row, again) in enumerate(slots) if row[1] in ("loss", "backward") for tensor in row[4]}
    read = {tensor: s for s, (row, again) in enumerate(slots) for tensor in row[3] if tensor in written}
    gradients = [0] * len(slots)
    for tensor, first in written.items():
        for s in range(first, read.get(tensor, first) + 1):
            gradients[s] += net.bytes[tensor]
    last = {tensor: s for s, (row, again) in enumerate(slots) for tensor in row[3] + row[4] if tensor in maker}

    program = Program()
    before = {}
    for s, (row, again) in enumerate(slots):
        run = program.variable(float(row[2]), whole=again, fixed=not again)
        there = {}
        for tensor in maker:
            makes, known = tensor in row[4], tensor in before
            if s > last[tensor] or not (makes or known):
                continue
            there[tensor] = program.variable()
            terms = [(there[tensor], 1.0)
                    ] + ([(before[tensor], -1.0)] if known else []) + ([(run, -1.0)] if makes else [])
            program.row(terms, -numpy.inf, 0.0)
            if makes or tensor in row[3]:
                program.row([(there[tensor], 1.0), (run, -1.0)], 0.0, numpy.inf)
        room = float(budget_units - gradients[s])
        if room < 0:
            return None
        if there:
            program.row([(column, float(net.bytes[tensor])) for tensor, column in there.items()], -numpy.inf, room)
        before = there
    return program


def solve(net, budget_units, time_limit):
    """{"status": optimal | infeasible | stopped, "seconds": those of the best solution or None, "bound": a lower
    bound}"""
    program = formulate(net, budget_units)
    if program is None:
        return {"status": "infeasible", "seconds": None, "bound": None}
    solution = solve_highspy(program, time_limit) if highspy is not None else solve_scipy(program, time_limit)
    return dict(solution, columns=len(program.cost), rows=len(program.low))


def solve_highspy(program, time_limit):
    n, m = len(program.cost), len(program.low)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n, m
    lp.col_cost_ = numpy.array(program.cost)
    lp.col_lower_, lp.col_upper_ = numpy.array(program.lower), numpy.ones(n)
    lp.row_lower_, lp.row_upper_ = numpy.array(program.low), numpy.array(program.high)
    lp.integrality_ = [
        highspy.HighsVarType.kInteger if whole else highspy.HighsVarType.kContinuous for whole in program.whole
    ]
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = numpy.array(program.start, dtype=numpy.int32)
    lp.a_matrix_.index_ = numpy.array(program.index, dtype=numpy.int32)
    lp.a_matrix_.value_ = numpy.array(program.value)
    highs = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1), ("time_limit", float(time_limit)), ("mip_rel_gap",
                                                                                                      1e-4)):
        highs.setOptionValue(option, value)
    highs.passModel(lp)
    highs.run()
    status, info = highs.getModelStatus(), highs.getInfo()
    if status == highspy.HighsModelStatus.kInfeasible:
        return {"status": "infeasible", "seconds": None, "bound": None}
    found = info.primal_solution_status == 2
    bound = info.mip_dual_bound if abs(info.mip_dual_bound) < 1e20 else None
    return {"status": "optimal" if status == highspy.HighsModelStatus.kOptimal else "stopped",
            "seconds": round(info.objective_function_value, 4) if found else None,
            "bound": None if bound is None else round(bound, 4)}


def solve_scipy(program, time_limit):
    n = len(program.cost)
    matrix = csr_matrix((program.value, program.index, program.start), shape=(len(program.low), n))
    found = scipy_milp(numpy.array(program.cost), integrality=numpy.array(program.whole, dtype=int),
                       bounds=Bounds(numpy.array(program.lower), numpy.ones(n)),
                       constraints=LinearConstraint(matrix, numpy.array(program.low), numpy.array(program.high)),
                       options={"time_limit": time_limit, "mip_rel_gap": 1e-4})
    status = {0: "optimal", 2: "infeasible"}.get(found.status, "stopped")
    bound = getattr(found, "mip_dual_bound", None)
    return {"status": status, "seconds": None if found.x is None else round(float(found.fun), 4),
            "bound": None if bound is None else round(float(bound), 4)}
