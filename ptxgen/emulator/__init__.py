"""The emulator: runs PTX on the CPU, many threads at once, bit for bit."""

from ptxgen.emulator.emulate import emulate
from ptxgen.emulator.reports import EmulationError, EmulationResult, Report

__all__ = ["EmulationError", "EmulationResult", "Report", "emulate"]
