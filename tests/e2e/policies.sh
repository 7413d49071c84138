# Offloaded, prefetched and recomputed values are the same values. Under budgets from the minimum up, and under every
# policy, with the same sub-batch, a network trains to the same bits, also with the host pool in a file. tests/streams
# executes all policies and six budgets on all four networks, and in rounds; tools/bench/same_bits.sh does so with
# trainers.
. "$PLIMSOLL_E2E/trainer.bash"
. "$PLIMSOLL_E2E/same_bits.bash"

network resnet18 resnet18:input=32,stem=cifar,width=16,classes=10 8 3 32 32
for percent in 0 5 15 30 50 75; do same_bits at$percent --policy auto --budget "$(budget $percent)"; done
spilled at0
for policy in $(all_policies); do same_bits "${policy//:/-}" --policy "$policy" --budget auto; done
conclude

network googlenet googlenet:input=64,classes=10 8 3 64 64
for percent in 0 30; do same_bits at$percent --policy auto --budget "$(budget $percent)"; done
same_bits sublinear --policy sublinear --budget auto
conclude

network densenet densenet121:input=32,classes=10 8 3 32 32
for percent in 1 40; do same_bits at$percent --policy auto --budget "$(budget $percent)"; done
same_bits sublinear --policy sublinear --budget auto
conclude

network lstm lstm:steps=12,layers=2,hidden=32,classes=10 8 12 32
for percent in 0 30 60; do same_bits at$percent --policy auto --budget "$(budget $percent)"; done
same_bits sublinear --policy sublinear --budget auto
conclude
