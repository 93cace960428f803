#!/bin/sh
# ptxas, and in $COUNTED what it was called with.
echo "$@" >>"$COUNTED"
exec "$REAL_PTXAS" "$@"
