# Trainers of one network and sub-batch compute the same bits under several budgets and policies, which move and
# recompute values, and with the host pool in a file. tests/streams executes all policies and six budgets on all four
# networks, also in rounds, in one process; tools/bench/same_bits.sh does so with trainers.
. "$PLIMSOLL_E2E/trainer.bash"
. "$PLIMSOLL_E2E/same_bits.bash"

network resnet18 resnet18:input=32,stem=cifar,width=16,classes=10 8 3 32 32
for percent in 0 15; do same_bits at$percent --policy auto --budget "$(budget $percent)"; done
spilled at0
for policy in vdnn-all:m sublinear; do same_bits "${policy//:/-}" --policy "$policy" --budget auto; done
conclude

network googlenet googlenet:input=64,classes=10 8 3 64 64
same_bits at0 --policy auto --budget "$(budget 0)"
same_bits sublinear --policy sublinear --budget auto
conclude

network densenet densenet121:input=32,classes=10 8 3 32 32
same_bits at1 --policy auto --budget "$(budget 1)"
same_bits sublinear --policy sublinear --budget auto
conclude

network lstm lstm:steps=12,layers=2,hidden=32,classes=10 8 12 32
same_bits at0 --policy auto --budget "$(budget 0)"
same_bits sublinear --policy sublinear --budget auto
conclude
