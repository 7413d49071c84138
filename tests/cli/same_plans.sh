# tools/bench/same_plans.py finds equal plans equal and detects a different plan: it compares the compiler with itself
# and with a damaged record, on a few cells.
. "$PLIMSOLL_CLI/common.sh"
same_plans() {
  expect "$1" /usr/bin/python3 "$PLIMSOLL_SOURCE/tools/bench/same_plans.py" --plimsoll "$(command -v plimsoll)" \
    --quick --work work "${@:2}"
}
of_lenet="^lenet.*(k40m|titanx)"
same_plans 0 --only "$of_lenet" --against "$(command -v plimsoll)"
says "3 cells"; says "; 0 differ"
same_plans 0 --only "$of_lenet" --record record.json
same_plans 0 --only "$of_lenet" --check record.json
says "; 0 differ"
sed -i '/k40m/s/: "./: "-/' record.json
same_plans 1 --only "$of_lenet" --check record.json
says "DIFFERS lenet --costs k40m"; says "; 1 differ"
same_plans 2 --only nothing-of-this-name --check record.json
says "no cell matches"
