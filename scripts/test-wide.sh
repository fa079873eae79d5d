#!/bin/sh
# Runs the tests of a package that `pnpm test` leaves out (*.wide.test.ts) or narrows, in full; not those that it runs as
# they are. Further arguments are Vitest's.
set -eu
files=$({
  find src -name '*.wide.test.ts'
  grep -rlE --include='*.test.ts' 'byWidth|propertyRuns|FAIRLEAD_WIDE' src
} | sort -u)
if [ -z "$files" ]; then
  echo "$PWD/src has no wide tests" >&2
  exit 1
fi
FAIRLEAD_WIDE=1 exec vitest run $files "$@"
