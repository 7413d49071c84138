# Offloaded, prefetched and recomputed values are the same values. Under a budget near the minimum and under policies that
# move and recompute, with the same sub-batch, trainers have the same bits, also with the host pool in a file. All policies
# and six budgets are executed on all four networks, and in rounds, by tests/streams, in one process; by trainers they are
# in tools/bench/same_bits.sh.
. "$PLIMSOLL_E2E/trainer.bash"
. "$PLIMSOLL_E2E/same_bits.bash"

network resnet18 resnet18:input=32,stem=cifar,width=16,classes=10 8 3 32 32
for percent in 0 15 50; do same_bits at$percent --policy auto --budget "$(budget $percent)"; done
spilled at0
for policy in vdnn-all:m superneurons sublinear; do same_bits "${policy//:/-}" --policy "$policy" --budget auto; done
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
