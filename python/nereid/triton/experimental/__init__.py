"""What Triton calls experimental."""
