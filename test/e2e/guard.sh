#!/usr/bin/env bash
# Waits for the end of a run, however that comes, and puts back what the run changed; holds the run's lock until then.
#   guard.sh STATE CACHE <PIPE   the run has the other end of the pipe, and nobody else
set -euo pipefail
e2e=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$e2e/common.sh"
. "$e2e/host.sh"
trap '' INT TERM HUP PIPE
cat >/dev/null || true
put_back "$1"
rm -f "$2/e2e.state"
