"""The emulator: runs PTX on the CPU, many threads at once, bit for bit."""
