# The command line: what is wrong is said with the way out, and exits with 2.
. "$PLIMSOLL_CLI/common.sh"
small_model

expect 2 plimsoll;                                                    says "a subcommand is needed"
expect 2 plimsoll compress net.onnx;                                  says "'compress' is not a subcommand"
expect 2 plimsoll plan net.onnx;                                      says "batch"
expect 2 plimsoll plan net.onnx --batch 0;                            says "--batch is 0"
expect 2 plimsoll plan net.onnx --batch -4;                           says "--batch is -4"
expect 2 plimsoll plan net.onnx --batch 8 --sub-batch 9;              says "between 1 and the batch, 8"
expect 2 plimsoll plan net.onnx --batch 8 --sub-batch 0;              says "--sub-batch is 0 when it should be between 1 and the batch, 8"
expect 2 plimsoll plan net.onnx --batch 8 --threads 0;                says "--threads is 0 when it should be between 1 and 1024"
expect 2 plimsoll plan net.onnx --batch 8 --clip-norm 0;              says "--clip-norm is 0 when it should be above 0"
expect 2 plimsoll plan net.onnx --batch 8 --momentum nan;             says "--momentum is nan"
expect 2 plimsoll plan net.onnx --batch 8 --momentum -0.5;            says "--momentum is -0.5 when it should be a number from 0 on"
expect 2 plimsoll plan net.onnx --batch 8 --weight-decay -1;          says "--weight-decay is -1 when it should be a number from 0 on"
expect 2 plimsoll plan net.onnx --batch 8 --weight-decay inf;         says "--weight-decay is inf"
expect 2 plimsoll plan net.onnx --batch 8 --budget 4Gb;               says "'4Gb' is not a size"
expect 2 plimsoll plan net.onnx --batch 8 --budget 0;                 says "--budget is 0"
expect 2 plimsoll plan net.onnx --batch 8 --policy magic;             says "liveness"
expect 2 plimsoll plan net.onnx --batch 8 --optimizer lion
expect 2 plimsoll plan net.onnx --batch 8 --target tpu;               says "targets: host"
expect 2 plimsoll plan net.onnx --batch 8 --costs abacus;             says "abacus"
expect 2 plimsoll plan net.onnx --batch 8 --dim seq;                  says "NAME=SIZE"
expect 2 plimsoll plan net.onnx --batch 8 --dim seq=4;               says "--dim seq=4: the model has no dimension of that name"
expect 2 plimsoll plan net.onnx --batch 8 --dim n=4 --dim n=5;       says "--dim n is given twice: 4 and 5"
expect 2 plimsoll plan net.onnx --batch 8 --no-such-flag;             says "no-such-flag"
# The value of an option that there is not is no second complaint.
expect 2 plimsoll plan net.onnx --batch 8 --budgett 3MiB;             says "'--budgett'"; says "Did you mean '--budget'?"
[[ $(wc -l <err) -eq 3 ]] || { cat err; fail "more is said of --budgett than that it is not there"; }
# What the parser of the command line says by itself ends in where to look, and speaks of nobody's path.
for wrong in "--batch 4.5" "--batch" "--batch 8 --loss sum" "--batch 8 --bugdet 60%" "--batch 8 second.onnx"; do
  expect 2 plimsoll plan net.onnx $wrong;                             says '`plimsoll plan --help` tells more'
  ! grep -E '^error: *$|/plimsoll|rng-seed' err || fail "says it badly: $wrong"
done
expect 2 plimsoll --nonsense;                                         says '`plimsoll --help` tells more'
! grep rng-seed err || fail "offers an option that is not ours"
expect 2 plimsoll plan net.onnx --batch 8 --print-after nothing;      says "no pass is called 'nothing'"
expect 2 plimsoll model nothing-net -o x.onnx;                        says "resnet18"
expect 2 plimsoll model resnet18:colour=red -o x.onnx;                says "colour"
expect 2 plimsoll model resnet18;                                     says "-o FILE.onnx"
expect 0 plimsoll --help
expect 0 plimsoll compile --help;                                     says "--budget"
expect 0 plimsoll --version;                                          says "plimsoll 0.1.0"
[[ ! -e x.onnx ]] || fail "a refused model left a file behind"
