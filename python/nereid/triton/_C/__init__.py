"""What programs import of Triton's compiled parts."""
