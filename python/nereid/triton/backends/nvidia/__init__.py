"""What programs look for under the name of Triton's back end."""
