# Placement from a file: buffers with lifetimes in, offsets out, and a capacity that cannot be met.
. "$PLIMSOLL_CLI/common.sh"
#   time   0 1 2 3        a, b and c are live at time 1: 12 is the least
cat > buffers.csv <<'CSV'
id,lower,upper,size
a,0,4,4
b,0,2,4
c,1,3,4
d,2,4,4
CSV
expect 0 plimsoll place buffers.csv -o placed.csv;      says "height 12, lower bound 12"
[[ $(head -1 placed.csv) == id,lower,upper,size,offset ]] || fail "no offsets"
[[ $(wc -l < placed.csv) -eq 5 ]] || fail "not every buffer is back"
expect 0 plimsoll place placed.csv
expect 6 plimsoll place buffers.csv --capacity 8;       says "needs 12"
echo "a,0,4" > short.csv
expect 3 plimsoll place short.csv
expect 3 plimsoll place missing.csv

# A capacity that is known to work is searched for directly: minimalloc's D fits its own, which successive attempts
# miss.
expect 0 plimsoll place "$PLIMSOLL_CLI/../place/minimalloc/D.1048576.csv" --capacity 1048576
