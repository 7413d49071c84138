# What `auto` holds for every network, device and budget, on a few small ones; tools/bench/planner/laws.py does it for the zoo.
. "$PLIMSOLL_CLI/common.sh"
expect 0 /usr/bin/python3 "$PLIMSOLL_SOURCE/tools/bench/planner/laws.py" --plimsoll "$(command -v plimsoll)" --work models --effort 0 --devices k40m \
  --only "lenet;resnet20:width=8;vgg11:input=32,width=8,hidden=64" --pairs 1
says "3 networks"; says "4 of 4 cases"; says "; 0 broken"
