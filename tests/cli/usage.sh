# Errors on the command line: the message includes the remedy, and the exit code is 2.
. "$PLIMSOLL_CLI/common.sh"
small_model

expect 2 plimsoll;                                                    says "a subcommand is required"
expect 2 plimsoll compress net.onnx;                                  says "'compress' is not a subcommand"
expect 2 plimsoll plan net.onnx;                                      says "batch"
expect 2 plimsoll plan net.onnx --batch 0;                            says "--batch is 0"
expect 2 plimsoll plan net.onnx --batch -4;                           says "--batch is -4"
expect 2 plimsoll plan net.onnx --batch 8 --sub-batch 9;              says "expected 1 to the batch, 8"
expect 2 plimsoll plan net.onnx --batch 8 --sub-batch 0
says "--sub-batch is 0; expected 1 to the batch, 8"
expect 2 plimsoll plan net.onnx --batch 8 --threads 0;                says "--threads is 0; expected 1 to 1024"
expect 2 plimsoll plan net.onnx --batch 8 --clip-norm 0;              says "--clip-norm is 0; expected above 0"
expect 2 plimsoll plan net.onnx --batch 8 --momentum nan;             says "--momentum is nan"
expect 2 plimsoll plan net.onnx --batch 8 --momentum -0.5;            says "--momentum is -0.5; expected 0 to"
expect 2 plimsoll plan net.onnx --batch 8 --weight-decay -1;          says "--weight-decay is -1; expected 0 to"
expect 2 plimsoll plan net.onnx --batch 8 --weight-decay inf;         says "--weight-decay is inf"
expect 2 plimsoll plan net.onnx --batch 8 --budget 4Gb;               says "'4Gb' is not a size"
expect 2 plimsoll plan net.onnx --batch 8 --budget 0;                 says "--budget is 0"
expect 2 plimsoll plan net.onnx --batch 8 --policy magic;             says "liveness"
expect 2 plimsoll plan net.onnx --batch 8 --optimizer rmsprop
expect 2 plimsoll plan net.onnx --batch 8 --target tpu;               says "targets: host"
expect 2 plimsoll plan net.onnx --batch 8 --costs abacus;             says "abacus"
expect 2 plimsoll plan net.onnx --batch 8 --dim seq;                  says "NAME=SIZE"
expect 2 plimsoll plan net.onnx --batch 8 --dim seq=4
says "--dim seq=4: the model has no dimension of this name"
expect 2 plimsoll inspect net.onnx --dim seq=4
says "--dim seq=4: the model has no dimension of this name"
expect 2 plimsoll plan net.onnx --batch 8 --input rate;             says "NAME=NUMBER"
expect 2 plimsoll plan net.onnx --batch 8 --input rate=8
says "--input rate=8: the model has no input of this name"
expect 2 plimsoll inspect net.onnx --input rate=8
says "--input rate=8: the model has no input of this name"
expect 2 plimsoll plan net.onnx --batch 8 --dim n=4 --dim n=5;       says "--dim n is given twice: 4 and 5"
expect 2 plimsoll plan net.onnx --batch 8 --no-such-flag;             says "no-such-flag"
expect 2 plimsoll plan net.onnx --batch 8 --lr 0.1;                   says "that is a trainer's flag"
expect 2 plimsoll plan net.onnx --batch;                              says "--batch needs a value: N"
expect 2 plimsoll plan net.onnx --batch --budget 60%;                 says "--batch needs a value: N"
expect 2 plimsoll plan net.onnx --batch=;                             says "--batch is ''; expected an integer"
expect 2 plimsoll plan net.onnx --batch 8 --dim n=4 --dim n=batch;   says "--dim n is given twice: 4 and batch"
expect 2 plimsoll plan net.onnx --batch 8 --dim m=batch;             says "--dim m=batch: the model has no dimension"
expect 2 plimsoll plan net.onnx --batch 4 --batch 8;                  says "--batch is given twice: 4 and 8"
expect 2 plimsoll plan net.onnx --batch 4 --strict --strict;          says "--strict is given twice"
expect 2 plimsoll plan net.onnx --batch 4 --strict=maybe
says "--strict takes no value, but 'maybe' is given"
expect 2 plimsoll plan net.onnx --batch 99999999999999999999;         says "; expected a smaller number"
expect 2 plimsoll plan net.onnx --batch 4 --effort x;                 says "--effort is 'x'; expected an integer"
expect 2 plimsoll plan net.onnx --batch 4 --effort 9;                 says "--effort is 9; expected 0 to 3"
expect 2 plimsoll plan net.onnx --batch 4 --jobs 0;                   says "--jobs is 0; expected 1 to 256"
expect 2 plimsoll plan net.onnx --batch 4 --momentum nine;            says "--momentum is 'nine'; expected a number"
expect 2 plimsoll plan net.onnx --batch 4 --optimizer rmsprop
says "; expected one of sgd, momentum, adam, adamw, lamb, lion"
expect 2 plimsoll plan net.onnx --batch 4 --checkpoint ck;            says '; export has it'
expect 2 plimsoll plan net.onnx --batch 4 -o '';                      says "-o is empty"
expect 2 plimsoll plan '' --batch 4;                                  says "MODEL.onnx is empty"
expect 2 plimsoll plan --batch 4;                                     says "MODEL.onnx is missing"
expect 2 plimsoll plan net.onnx --batch 4 second.onnx;                says "unexpected argument 'second.onnx'"
expect 2 plimsoll plan -- net.onnx --batch 4;                         says "unexpected argument '--batch'"
expect 2 plimsoll plan net.onnx --batch 4 -;                          says "unexpected argument '-'"
expect 2 plimsoll plan net.onnx --batch $'\xff';                      says "expected an integer"
# No number overflows or is taken for another number.
for option in batch sub-batch threads jobs effort ranks; do
  for number in -1 1e30 9223372036854775807 9223372036854775808 99999999999999999999 '' 12x nan; do
    expect 2 plimsoll plan net.onnx $([[ $option == batch ]] || echo "--batch 4") --$option "$number" -o none.json
    says "--$option"
  done
done
for option in momentum weight-decay clip-norm; do
  for number in -1 1e39 1e400 '' 12x nan inf; do
    expect 2 plimsoll plan net.onnx --batch 4 --$option "$number" -o none.json;  says "--$option"
  done
done
for number in -1 '' 12x nan inf; do
  expect 2 plimsoll plan net.onnx --batch 4 --time-limit "$number" -o none.json;  says "--time-limit"
done
for number in 1e30 9223372036854775808; do
  expect 0 plimsoll plan net.onnx --batch 4 --time-limit $number -q -o long.json
done
for option in budget host-budget what-if; do
  for number in -1 1e30 9223372036854775808 '' 12x nan nan% -5% 1e400GiB 9999999TiB; do
    expect 2 plimsoll plan net.onnx --batch 4 --$option "$number" -o none.json;  says "$option"
  done
done
for number in 0 -1 1e30 9223372036854775808 '' 12x; do
  expect 2 plimsoll plan net.onnx --batch 4 --dim "n=$number" -o none.json;  says "--dim"
  expect 2 plimsoll profile net.onnx --batch 4 --sub-batch "2,$number" -o none.json;  says "--sub-batch"
  expect 2 plimsoll model "resnet18:width=$number" -o none.onnx;  says "width"
done
[[ ! -e none.json && ! -e none.onnx ]] || fail "a refused number left a file behind"
expect 2 plimsoll inspect;                                            says "MODEL.onnx is missing"
expect 2 plimsoll inspect net.onnx --csv=colours;                     says "--csv is 'colours'; expected one of "
expect 2 plimsoll compile net.onnx --batch 4;                         says "-o DIR is required"
expect 2 plimsoll profile net.onnx --batch 4 --sub-batch 4,x -o p;    says "--sub-batch is '4,x'; expected"
expect 2 plimsoll --batch 4 plan net.onnx;                            says "the subcommand comes first"
expect 3 plimsoll plan $'n\xff.onnx' --batch 4;                       says "cannot read model"
expect 0 plimsoll plan --batch 4 -q --policy liveness -o p.json -- net.onnx
expect 0 plimsoll plan -batch=4 -q --policy liveness -o p.json net.onnx --strict=false
expect 0 plimsoll inspect p.json --csv
expect 0 plimsoll inspect p.json --csv=layers
expect 0 plimsoll model lenet -q -o quiet.onnx; [[ ! -s out && ! -s err ]] || fail "model -q says something"
expect 0 plimsoll model lenet --quiet -o quiet.onnx; [[ ! -s out && ! -s err ]] || fail "model --quiet says something"
expect 0 plimsoll plan quiet.onnx --batch 2 --costs p100 --verbose -o verbose.json; says " s  "
expect 0 plimsoll export quiet.onnx -q -o again.onnx; [[ ! -s out && ! -s err ]] || fail "export -q says something"
# The value of an unknown option is not reported as a second error.
expect 2 plimsoll plan net.onnx --batch 8 --budgett 3MiB
says "'--budgett'"
says "Did you mean '--budget'?"
[[ $(wc -l <err) -eq 3 ]] || { cat err; fail "more is said of --budgett than that it is not there"; }
# An error is one message, which ends with a pointer to the help and contains no path.
for wrong in "--batch 4.5" "--batch" "--batch 8 --loss sum" "--batch 8 --bugdet 60%" "--batch 8 second.onnx"; do
  expect 2 plimsoll plan net.onnx $wrong;                             says 'see `plimsoll plan --help`'
  [[ $(grep -c '^error: ' err) -eq 1 && $(wc -l <err) -le 3 ]] || { cat err; fail "more than one message: $wrong"; }
  ! grep -E '^error: *$|/plimsoll|rng-seed' err || fail "says it badly: $wrong"
done
expect 2 plimsoll --nonsense;                                         says 'see `plimsoll --help`'
! grep rng-seed err || fail "offers an option that is not ours"
expect 2 plimsoll plan net.onnx --batch 8 --print-after nothing;      says "unknown pass 'nothing'"
expect 2 plimsoll model nothing-net -o x.onnx;                        says "resnet18"
expect 2 plimsoll model resnet18:colour=red -o x.onnx;                says "colour"
expect 2 plimsoll model resnet18;                                     says "-o FILE.onnx"
expect 2 plimsoll plan net.onnx --batch 8 -q -v;                      says "-q and -v are mutually exclusive"
expect 0 plimsoll compile net.onnx --batch 8 --costs modelled -v -o told
for told in "s  read net.onnx: " "s  costs: modelled" "s  task graph: " "s  planned by auto and checked: " \
    "s  wrote told"; do
  says "$told"
done
expect 0 plimsoll --help
expect 0 plimsoll compile --help;                                     says "--budget"
expect 0 plimsoll --version;                                          says "plimsoll 0.1.0"
[[ ! -e x.onnx ]] || fail "a refused model left a file behind"
