# The command line: what is wrong is said with the way out, and exits with 2.
. "$PLIMSOLL_CLI/common.sh"
small_model

expect 2 plimsoll;                                                    says "a subcommand is needed"
expect 2 plimsoll compress net.onnx;                                  says "'compress' is not a subcommand"
expect 2 plimsoll plan net.onnx;                                      says "batch"
expect 2 plimsoll plan net.onnx --batch 0;                            says "--batch is 0"
expect 2 plimsoll plan net.onnx --batch -4;                           says "--batch is -4"
expect 2 plimsoll plan net.onnx --batch 8 --sub-batch 9;              says "between 1 and the batch, 8"
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
expect 2 plimsoll plan net.onnx --batch 8 --print-after nothing;      says "no pass is called 'nothing'"
expect 2 plimsoll model nothing-net -o x.onnx;                        says "resnet18"
expect 2 plimsoll model resnet18:colour=red -o x.onnx;                says "colour"
expect 2 plimsoll model resnet18;                                     says "-o FILE.onnx"
expect 0 plimsoll --help
expect 0 plimsoll compile --help;                                     says "--budget"
expect 0 plimsoll --version;                                          says "plimsoll 0.1.0"
[[ ! -e x.onnx ]] || fail "a refused model left a file behind"
