"""What each instruction does, one module a family of the PTX ISA; `table` holds them."""
