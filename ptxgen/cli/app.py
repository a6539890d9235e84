"""The commands and their options. Each command's work is in a module of its own, loaded when it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ptxgen.cli.output import UsageError
from ptxgen.layouts.errors import PtxgenError

__all__ = ["app", "run_app"]

app = typer.Typer(
    name="ptxgen",
    help="Write, check, run and explain PTX. Everything works without a GPU.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def run_app(arguments: Sequence[str] | None) -> int:
    """Run a command; errors of the user are messages on stderr, never tracebacks."""
    try:
        app(args=None if arguments is None else list(arguments), prog_name="ptxgen")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 1
    except UsageError as error:
        print(f"ptxgen: {error}", file=sys.stderr)
        return 2
    except PtxgenError as error:
        print(f"ptxgen: {error}" if "\n" not in str(error) else str(error), file=sys.stderr)
        return 1
    except OSError as error:
        print(f"ptxgen: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


@app.command()
def demo(
    emulate: Annotated[bool, typer.Option("--emulate", help="Run in the emulator even if there is a GPU.")] = False,
) -> None:
    """Show a kernel's Python source and PTX, run it, and compare with a + 1."""
    from ptxgen.cli.demonstrate import demonstrate

    raise typer.Exit(demonstrate(emulate))


@app.command()
def dump(
    kernel: Annotated[str, typer.Argument(metavar="MODULE:KERNEL", help="A dotted module or a path to a .py file, and the kernel in it.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there instead of to stdout.")] = None,
    constants: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A px.constexpr parameter.")] = None,
    comments: Annotated[bool, typer.Option(help="Put the Python lines in front of their instructions.")] = True,
    loc: Annotated[bool, typer.Option("--loc", help="Add .file and .loc directives.")] = False,
    target: Annotated[str | None, typer.Option(help="The target to write for, e.g. sm_90a; by default the lowest that will do.")] = None,
) -> None:
    """Print the PTX of a kernel."""
    from ptxgen.cli.dump import dump_kernel

    text = dump_kernel(kernel, constants or [], comments=comments, loc=loc, target=target)
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text, encoding="utf-8")


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="A PTX text.")],
    entry: Annotated[str | None, typer.Option(help="The entry; not needed where there is one only.")] = None,
    grid: Annotated[str, typer.Option(metavar="X[,Y,Z]", help="Blocks.")] = "1",
    block: Annotated[str | None, typer.Option(metavar="X[,Y,Z]", help="Threads of a block; .reqntid by default.")] = None,
    shared: Annotated[int, typer.Option(min=0, help="Bytes of dynamic shared memory.")] = 0,
    arguments: Annotated[
        list[str] | None,
        typer.Option(
            "--arg",
            metavar="TYPE[SHAPE]=VALUES",
            help="One for each parameter, in order: f32[1024]=arange, f32[8,8]=random (or zeros, ones, a number, data.npy), "
            "u32=1000, f32=2.5, bytes=00ff17, texture.2d.linear.wrap.normalized:f32[8,8]=data.npy, surface.2d:u32[8,8]=zeros.",
        ),
    ] = None,
    emulate: Annotated[bool | None, typer.Option("--emulate/--gpu", help="Where to run; a GPU by default if there is one.")] = None,
    seed: Annotated[int, typer.Option(help="For random values and the order of threads in the emulator.")] = 0,
    save: Annotated[list[str] | None, typer.Option(metavar="N=FILE.npy", help="Write argument N (from 0) to a file afterwards.")] = None,
) -> None:
    """Run an entry of a PTX text, whoever wrote it."""
    from ptxgen.cli.run import RunOptions, run_file

    options = RunOptions(entry, grid, block, shared, arguments or [], emulate, seed, save or [])
    raise typer.Exit(run_file(file, options))


@app.command()
def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="PTX texts; - is stdin.")],
    target: Annotated[str | None, typer.Option(help="Also say whether the texts can be assembled for this target.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one list of problems as JSON.")] = False,
    assemble: Annotated[bool, typer.Option("--assemble", help="Ask the installed assembler as well.")] = False,
    without: Annotated[
        list[str] | None, typer.Option("--no", metavar="ID", help="Leave out the lints, warnings and notes of this id, such as misaligned.")
    ] = None,
) -> None:
    """Read PTX texts, hold every declaration and instruction against what the ISA and its contract say, and lint them."""
    from ptxgen.cli.check import check_files

    raise typer.Exit(check_files(files, target, json, assemble, without or []))


@app.command()
def explain(
    opcode: Annotated[str, typer.Argument(help="Such as ld.global.v4.b32; a mnemonic alone, ld; or a special register, %tid.x.")],
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Say what an instruction demands, or what a special register holds."""
    from ptxgen.cli.explain import explain_opcode

    explain_opcode(opcode, json)


@app.command()
def draw(
    what: Annotated[
        str,
        typer.Argument(
            metavar="LAYOUT|OPCODE", help="S[(8, 64) : (64, 1)], a layout of CuTe or Triton, or an opcode, of which an operand is drawn."
        ),
    ],
    by: Annotated[str | None, typer.Option("--as", metavar="owner|bank|address", help="What the cells say.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE.svg", help="Write SVG there, no table to stdout.")] = None,
    operand: Annotated[str | None, typer.Option(help="Of an opcode: A, B, C, D, or its name in the syntax line.")] = None,
    choices: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="What the opcode leaves open: swizzle=128, major=mn, rows=128, shape=(64,64)."),
    ] = None,
    element: Annotated[str | None, typer.Option("--type", help="Of an element of the layout: bf16, or bits.")] = None,
    container: Annotated[str | None, typer.Option(help="Of a register that elements share: b32, or bits.")] = None,
    swizzle: Annotated[str | None, typer.Option(help="32B, 64B, 128B, or bits,base,shift of byte addresses.")] = None,
    shape: Annotated[
        str | None, typer.Option(metavar="ROWS,COLUMNS", help="Another shape of the same elements, row-major; for Triton the tile's.")
    ] = None,
    rows: Annotated[int | None, typer.Option(help="How many leading dimensions run downwards; half of them by default.")] = None,
    names: Annotated[str | None, typer.Option(metavar="NAME,NAME", help="The dimensions' names.")] = None,
    title: Annotated[str | None, typer.Option(help="Stands above the picture.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows and columns of cells that are drawn at most.")] = 32,
) -> None:
    """Draw where the elements of a layout or of an instruction's operand are: SVG, or a coloured table."""
    from ptxgen.cli.draw import DrawOptions
    from ptxgen.cli.draw import draw as draw_layout

    draw_layout(what, DrawOptions(by, output, operand, choices or [], element, container, swizzle, shape, rows, names, title, limit))


@app.command(name="list")
def list_(
    prefix: Annotated[str, typer.Argument(help="Only what begins so, such as mbarrier or ld.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print a list of records as JSON.")] = False,
) -> None:
    """List every form of every instruction: syntax, first PTX version, targets, and whether the emulator executes it."""
    from ptxgen.cli.explain import list_forms

    list_forms(prefix, json)


@app.command()
def certify(
    families: Annotated[list[str] | None, typer.Argument(metavar="[FAMILY]...", help="Families of instructions; all by default.")] = None,
    sample: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only N random legal statements, and as many mutants.")] = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
    mutants: Annotated[int, typer.Option(min=0, help="Mutants of each syntax line, without --sample.")] = 120,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Keeps what is done, without --sample.")] = Path("certify.jsonl"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on where FILE ends.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Hold the contracts against ptxas: what they allow, and what they refuse."""
    from ptxgen.cli.certify import certify_contracts

    raise typer.Exit(certify_contracts(families or [], sample, seed, mutants, out, resume, json))
