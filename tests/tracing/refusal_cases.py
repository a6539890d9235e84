"""Python that would silently do something else in a kernel, each with the line that is refused and the exact message.

The module runs by itself, without pytest, under every Python that is installed: ``python -m tests.tracing.refusal_cases``.
"""

# ruff: noqa: B007, B018, B020, B023, RUF059, SIM113, UP028  (what is wrong with this code is what it is for)

import linecache
import sys

import ptxgen as px
from ptxgen.errors import TraceError
from ptxgen.tracing.builder import Builder

CASES = {}
LEGAL = {}


def refused(line, problem, why="", legal=""):
    """The function below must be refused at `line`."""

    def register(function):
        CASES[function.__name__] = function, line, problem, why, legal
        return function

    return register


def legal(function):
    """The function below must be traced."""
    LEGAL[function.__name__] = function
    return function


def trace(function):
    builder = Builder("k", (64, 1, 1))
    with builder:
        function(px.tid.x)
        builder.finish()
    return builder


def outcome(function):
    """The error's line, problem, why and legal, or None."""
    try:
        trace(function)
    except TraceError as error:
        return error.where.source, error.problem, error.why, error.legal
    return None


JUMP = "Python would jump while the kernel is traced, once, whatever the threads do on the GPU"


def carried(name, where="px.range", type="f32"):
    return (
        f"{name} is read and then bound to something else in a {where} loop",
        f"the body is traced once: every iteration on the GPU would read the {name} from before the loop",
        f"{name} = px.reg(px.{type}, ...) before the loop, and {name} += ... or {name}.set(...) inside",
    )


def escaping(name, where="px.if_"):
    return (
        f"{name} is bound in a {where} block and read after it",
        "Python binds it while the kernel is traced, whether or not a thread runs the block",
        f"{name} = px.reg(dtype, ...) before the block and {name}.set(...) inside, or px.select(p, a, b)",
    )


NOT_A_FOR = (
    "px.range is not the iterable of a for statement itself",
    "the loop runs on the GPU and its body is traced once: a comprehension, zip, list or next would see one element",
    "for i in px.range(n): ...; Python's own range unrolls",
)
UNKNOWN = "its value is known on the GPU alone"


def outside(kind, mark):
    lines = linecache.getlines(__file__)
    line = next(number for number, text in enumerate(lines, 1) if text.endswith(f":  # {mark}\n"))
    return (
        f"this value is defined inside the {kind} block at refusal_cases.py:{line} and used outside of it",
        "the block may not have run, so its register may hold nothing",
        "declare r = px.reg(dtype, init) before the block, r.set(...) inside it; or use px.select",
    )


# ---- jumps ------------------------------------------------------------------------------------------------------------


@refused("break", "break leaves a px.range block", JUMP, "px.break_(), inside with px.if_(...)")
def break_of_a_loop(tid):
    for i in px.range(4):
        if i is None:
            break


@refused("continue", "continue leaves a px.range block", JUMP, "px.continue_(), inside with px.if_(...)")
def continue_of_a_loop(tid):
    for i in px.range(4):
        for _ in range(2):
            if tid is None:
                continue
        continue


@refused(
    "return",
    "return leaves a px.range block",
    JUMP,
    "px.return_() ends the thread; a helper returns its value after the block, from a px.reg",
)
def return_from_a_loop(tid):
    for i in px.range(4):
        with px.if_(i == tid):
            return


@refused(
    "return i",
    "return leaves a px.range block",
    JUMP,
    "px.return_() ends the thread; a helper returns its value after the block, from a px.reg",
)
def return_from_a_loop_in_a_helper(tid):
    def find(limit):
        for i in px.range(limit):
            return i

    find(4)


@refused("break", "break leaves a px.if_ block", JUMP, "px.break_(), inside with px.if_(...)")
def break_of_an_unrolled_loop_in_a_branch(tid):
    for k in range(4):
        with px.if_(tid == k):
            break


@refused(
    "return",
    "return leaves a px.else_ block",
    JUMP,
    "px.return_() ends the thread; a helper returns its value after the block, from a px.reg",
)
def return_from_an_else(tid):
    with px.if_(tid == 1):
        px.syncthreads()
    with px.else_():
        return


@refused("continue", "continue leaves a px.while_ block", JUMP, "px.continue_(), inside with px.if_(...)")
def continue_of_an_unrolled_loop_in_a_while(tid):
    r = px.reg(px.u32, 0)
    for _ in range(2):
        with px.while_(lambda: r < 3):
            r += 1
            continue


@refused("yield i", "yield leaves a px.range block", JUMP, "no generator around a traced block: call a function with the loop's index")
def generator_around_a_loop(tid):
    def blocks():
        for i in px.range(4):
            yield i

    for i in blocks():
        tid + i


@refused(
    "px.syncthreads()",
    "else of a px.range loop",
    "Python would trace it always, also where px.break_() leaves the loop",
    "a px.reg(px.pred, False) that is set before px.break_(), and with px.if_(~flag): after the loop",
)
def else_of_a_loop(tid):
    for _ in px.range(4):
        pass
    else:
        px.syncthreads()


# ---- names ------------------------------------------------------------------------------------------------------------


@refused("acc = acc + x", *carried("acc"))
def carried_value(tid):
    x = acc = tid.to(px.f32)
    for _ in px.range(4):
        acc = acc + x


@refused("acc += x", *carried("acc"))
def carried_by_augmented_assignment(tid):
    x = acc = tid.to(px.f32)
    for _ in px.range(4):
        acc += x


@refused("count += 1", *carried("count", type="u32"))
def carried_python_number(tid):
    count = 0
    for _ in px.range(4):
        count += 1


@refused("a, b = b, a", *carried("a"))
def carried_by_unpacking(tid):
    a, b = tid.to(px.f32), px.f32(1)
    for _ in px.range(4):
        a, b = b, a


@refused("if (k := k + 1) > 3:", *carried("k", type="u32"))
def carried_by_walrus(tid):
    k = 0
    for _ in px.range(4):
        if (k := k + 1) > 3:
            px.syncthreads()


@refused("for k in range(k, k + 2):", *carried("k", type="u32"))
def carried_by_an_inner_target(tid):
    k = 2
    for _ in px.range(4):
        for k in range(k, k + 2):
            tid + k


@refused("acc = acc + x", *carried("acc"))
def carried_inside_a_branch_in_a_loop(tid):
    x = acc = tid.to(px.f32)
    for _ in px.range(4):
        with px.if_(tid == 1):
            acc = acc + x


@refused("i = i + 1", *carried("i", "px.while_", "u32"))
def carried_into_a_condition(tid):
    i = px.u32(0)
    with px.while_(lambda: i < 4):
        i = i + 1


@refused("state = state + 1", *carried("state", type="u32"))
def carried_through_a_named_function(tid):
    state = 1

    def use():
        return tid + state

    for _ in px.range(4):
        use()
        state = state + 1


@refused("scale = 2.0", *escaping("scale"))
def python_number_out_of_a_branch(tid):
    scale = 1.0
    with px.if_(tid == 1):
        scale = 2.0
    tid.to(px.f32) * scale


@refused("k = 1", *escaping("k"))
def python_number_from_one_branch_into_the_other(tid):
    k = 0
    with px.if_(tid == 1):
        k = 1
    with px.else_():
        tid + k


@refused("y = b", *escaping("y"))
def outer_value_out_of_a_branch(tid):
    y, b = tid + 1, tid + 2
    with px.if_(tid == 1):
        y = b
    y + 1


@refused("k = 1", *escaping("k"))
def python_number_around_an_unrolled_loop(tid):
    k = 0
    for _ in range(2):
        tid + k
        with px.if_(tid == 1):
            k = 1


@refused("last = 3", *escaping("last", "px.range"))
def python_number_out_of_a_loop(tid):
    for _ in px.range(4):
        last = 3
    tid + last


@refused("y + 1", *outside("if", "the branch"))
def value_out_of_a_branch(tid):
    with px.if_(tid == 1):  # the branch
        y = tid + 2
    y + 1


@refused("tid + i", *outside("loop", "the index's loop"))
def index_out_of_a_loop(tid):
    for i in px.range(4):  # the index's loop
        pass
    tid + i


@refused("r += 1", *outside("loop", "the register's loop"))
def register_out_of_a_loop(tid):
    for _ in px.range(4):  # the register's loop
        r = px.reg(px.u32, 0)
    r += 1


# ---- px.range where a for statement does not iterate it -----------------------------------------------------------------


@refused("[tid + i for i in px.range(4)]", *NOT_A_FOR)
def list_comprehension(tid):
    [tid + i for i in px.range(4)]


@refused("for _ in [tid + i for i in px.range(4)]:", *NOT_A_FOR)
def list_comprehension_in_the_head_of_a_loop(tid):
    for _ in [tid + i for i in px.range(4)]:
        pass


@refused("sum(tid + i for i in px.range(4))", *NOT_A_FOR)
def generator_expression(tid):
    sum(tid + i for i in px.range(4))


@refused("for i, x in zip(px.range(4), [1, 2]):", *NOT_A_FOR)
def zipped(tid):
    for i, x in zip(px.range(4), [1, 2]):
        i + x


@refused("for k, i in enumerate(px.range(4)):", *NOT_A_FOR)
def enumerated(tid):
    for k, i in enumerate(px.range(4)):
        i + k


@refused("list(px.range(4))", *NOT_A_FOR)
def listed(tid):
    list(px.range(4))


@refused("next(px.range(4))", *NOT_A_FOR)
def nexted(tid):
    next(px.range(4))


@refused("first, second = px.range(2)", *NOT_A_FOR)
def unpacked(tid):
    first, second = px.range(2)


@refused("for i in reversed(px.range(4)):", *NOT_A_FOR)
def reversed_range(tid):
    for i in reversed(px.range(4)):
        tid + i


@refused("print(*px.range(4))", *NOT_A_FOR)
def starred(tid):
    print(*px.range(4))


# ---- blocks -----------------------------------------------------------------------------------------------------------


@refused("if px.if_(tid == 1):", "px.if_(...) is used as a truth value", "it would always be true", "with px.if_(...):")
def if_of_a_block(tid):
    if px.if_(tid == 1):
        px.syncthreads()


@refused("px.if_(tid == 1)", "px.if_(...) is not the head of a with statement", "it has no effect by itself", "with px.if_(...): ...")
def block_without_with(tid):
    px.if_(tid == 1)
    px.syncthreads()


@refused("with px.if_(tid == 1), px.if_(tid == 2):", "px.if_ shares its with statement with another context",
         "an else after it would not say to which block it belongs", "with px.if_(...): on a line of its own")  # fmt: skip
def two_blocks_in_one_with(tid):
    with px.if_(tid == 1), px.if_(tid == 2):
        px.syncthreads()


@refused("with px.else_():", "px.else_ does not directly follow a px.if_ or px.elif_ block", "",
         "with px.if_(p): ... and with px.else_(...): as the next statement of the same suite")  # fmt: skip
def else_without_if(tid):
    with px.else_():
        px.syncthreads()


@refused("with px.else_():", "px.else_ does not directly follow a px.if_ or px.elif_ block", "",
         "with px.if_(p): ... and with px.else_(...): as the next statement of the same suite")  # fmt: skip
def else_after_another_statement(tid):
    with px.if_(tid == 1):
        px.syncthreads()
    tid + 1
    with px.else_():
        px.syncthreads()


@refused("with px.elif_(tid == 2):", "px.elif_ does not directly follow a px.if_ or px.elif_ block", "",
         "with px.if_(p): ... and with px.elif_(...): as the next statement of the same suite")  # fmt: skip
def elif_after_else(tid):
    with px.if_(tid == 1):
        px.syncthreads()
    with px.else_():
        px.syncthreads()
    with px.elif_(tid == 2):
        px.syncthreads()


@refused("with px.if_(True):", "px.if_ got the Python bool True", "it is known while the kernel is traced", "Python's if")
def if_of_a_python_bool(tid):
    with px.if_(True):
        px.syncthreads()


@refused("with px.if_(tid):", "px.if_ needs a predicate, not a .u32", "", "px.if_(x != 0)")
def if_of_a_number(tid):
    with px.if_(tid):
        px.syncthreads()


@refused("with px.while_(tid < 3):", "px.while_ takes a function that gives the condition",
         "a value would be computed once, before the loop", "with px.while_(lambda: i < n):")  # fmt: skip
def while_of_a_value(tid):
    with px.while_(tid < 3):
        px.syncthreads()


@refused("px.break_()", "px.break_ outside of a traced loop", "", "inside for i in px.range(...) or with px.while_(...)")
def break_outside_of_a_loop(tid):
    with px.if_(tid == 1):
        px.break_()


@refused("for _ in px.range(0, 4, 0):", "a px.range of step 0 never ends", "", "a step other than 0")
def step_of_zero(tid):
    for _ in px.range(0, 4, 0):
        pass


@refused("for _ in px.range(tid, tid.to(px.u64)):", "the bounds of px.range are .u32 and .u64", "", "one type: .to(...)")
def bounds_of_two_types(tid):
    for _ in px.range(tid, tid.to(px.u64)):
        pass


@refused("for _ in px.range(4, 0, tid.bitcast(px.s32) - 9):", "the sign of this step is not known", "",
         "an unsigned step, a constant one, or px.while_ with a px.reg")  # fmt: skip
def step_of_unknown_sign(tid):
    for _ in px.range(4, 0, tid.bitcast(px.s32) - 9):
        pass


@refused("with px.if_(tid == 1):", "an exception left this block, and the kernel went on",
         "what the block had emitted is incomplete", "let the exception end the trace")  # fmt: skip
def swallowed_exception(tid):
    try:
        with px.if_(tid == 1):
            raise ValueError
    except ValueError:
        pass


# ---- truth ------------------------------------------------------------------------------------------------------------


def truth(used, advice):
    return f"a traced .pred is used as a truth value{used}", UNKNOWN, advice


@refused("if tid == 1:", *truth(" by if", "with px.if_(p): ..."))
def python_if(tid):
    if tid == 1:
        px.syncthreads()


@refused("elif tid == 1:", *truth(" by if", "with px.if_(p): ..."))
def python_elif(tid):
    if tid is None:
        pass
    elif tid == 1:
        px.syncthreads()


@refused("while tid < 4:", *truth(" by while", "with px.while_(lambda: p): ..."))
def python_while(tid):
    while tid < 4:
        px.syncthreads()


@refused("(tid < 4) and (tid > 2)", *truth(" by and", "p & q"))
def python_and(tid):
    (tid < 4) and (tid > 2)


@refused("p = tid < 4 or tid > 9", *truth(" by or", "p | q"))
def python_or(tid):
    p = tid < 4 or tid > 9
    return p


@refused("p = not tid < 4", *truth(" by not", "~p"))
def python_not(tid):
    p = not tid < 4
    return p


@refused("p = 1 < tid < 4", *truth(" by a chained comparison", "(a < b) & (b < c)"))
def chained_comparison(tid):
    p = 1 < tid < 4
    return p


@refused("p = tid in [3, 4]", *truth(" by in", "(x == a) | (x == b)"))
def python_in(tid):
    p = tid in [3, 4]
    return p


@refused("x = 1 if tid == 2 else 3", *truth(" by a conditional expression", "px.select(p, a, b)"))
def conditional_expression(tid):
    x = 1 if tid == 2 else 3
    return x


@refused("assert tid < 4", *truth(" by assert", 'with px.if_(~p): px.ptx["trap"]()'))
def python_assert(tid):
    assert tid < 4


# ---- what must be left alone ------------------------------------------------------------------------------------------


@legal
def mutable_registers_change_in_place(tid):
    acc = px.reg(px.f32, 0)
    for i in px.range(4):
        x = i.to(px.f32) * 2
        acc += x
        acc.set(acc * x)
    acc + 1


@legal
def temporaries_of_a_body(tid):
    for i in px.range(4):
        off = i * 4
        for k in range(3):
            off = off + k
        tid + off
    off = 5
    tid + off


@legal
def a_lambda_reads_what_the_body_bound(tid):
    for i in px.range(4):
        off = i * 4
        (lambda: tid + off)()


@legal
def both_branches_bind_before_reading(tid):
    for _ in range(2):
        with px.if_(tid == 1):
            k = 1
            tid + k
        with px.else_():
            k = 2
            tid + k


@legal
def code_that_does_not_run_changes_nothing(tid):
    acc = tid + 1
    for _ in px.range(4):
        if px is None:
            acc = acc + 1
        tid + acc


@legal
def break_of_an_unrolled_loop_inside(tid):
    for _ in px.range(4):
        for k in range(10):
            if k == 2:
                break
    with px.if_(tid == 1):
        while True:
            break


@legal
def comprehensions_over_python_ranges(tid):
    for i in px.range(4):
        [i + k for k in range(3)]
        {k: i + k for k in range(3)}


@legal
def helpers_with_loops(tid):
    def total(n):
        sum_ = px.reg(px.u32, 0)
        for i in px.range(n):
            sum_ += i
        return sum_.get()

    for i in px.range(4):
        total(i) + total(3)


@legal
def returns_of_inner_functions(tid):
    for i in px.range(4):

        def twice(x):
            return x * 2

        twice(i)


@legal
def several_lines_of_a_head(tid):
    for i in px.range(
        tid,
        100,
    ):
        with px.if_(i < 50):
            px.syncthreads()
        with px.elif_(i == 70):
            px.break_()


def failures():
    """Every case that does not come out as stated."""
    found = []
    for name, (function, line, problem, why, advice) in CASES.items():
        got, wanted = outcome(function), (line, problem, why, advice)
        if got != wanted:
            found.append(f"{name}: wanted {wanted}, got {got}")
    found.extend(f"{name}: {outcome(function)}" for name, function in LEGAL.items() if outcome(function) is not None)
    return found


if __name__ == "__main__":
    problems = failures()
    print("\n".join(problems) or f"{len(CASES)} refusals and {len(LEGAL)} legal kernels on Python {sys.version.split()[0]}")
    sys.exit(bool(problems))
