# The properties of every plan of `auto`, tested on a few small networks; tools/bench/planner/laws.py tests the zoo.
. "$PLIMSOLL_CLI/common.sh"
expect 0 /usr/bin/python3 "$PLIMSOLL_SOURCE/tools/bench/planner/laws.py" --plimsoll "$(command -v plimsoll)" \
  --work models --effort 0 --devices k40m \
  --only "lenet;resnet20:width=8;vgg11:input=32,width=8,hidden=64" --pairs 1
says "3 networks"; says "4 of 4 cases"; says "; 0 violations"
# The same in bf16.
expect 0 /usr/bin/python3 "$PLIMSOLL_SOURCE/tools/bench/planner/laws.py" --plimsoll "$(command -v plimsoll)" \
  --work models --effort 0 --devices h200 \
  --only "resnet20:width=8" --pairs 1 --with "--precision bf16"
says "2 of 2 cases"; says "; 0 violations"
