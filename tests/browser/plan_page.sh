# The report of a plan that offloads and recomputes, opened in a browser.
. "$PLIMSOLL_CLI/common.sh"
plimsoll model resnet:n=2,2,input=32,width=8,channels=1,classes=10 -o net.onnx 2>/dev/null
plimsoll plan -q net.onnx --batch 16 --costs k40m --effort 0 --policy auto --budget 35% -o plan.json
plimsoll inspect plan.json --html page.html --trace trace.json 2>/dev/null
plimsoll inspect plan.json --html measured.html --measured trace.json 2>/dev/null
plimsoll plan -q net.onnx --batch 16 --costs k40m --effort 0 --ranks 2 -o ranks.json
plimsoll inspect ranks.json --html ranks.html 2>/dev/null
# Weights that reside on the host are prefetched before the first task.
plimsoll model vgg11:input=32,width=4,hidden=256,classes=10 -o wide.onnx 2>/dev/null
plimsoll plan -q wide.onnx --batch 4 --optimizer adam --costs k40m --effort 0 --policy auto --budget 30% -o homes.json
plimsoll inspect homes.json --html homes.html 2>/dev/null
# Several rounds, each of which recomputes the same tasks.
plimsoll plan -q net.onnx --batch 16 --sub-batch 4 --costs k40m --policy sublinear --budget 50% -o rounds.json
plimsoll inspect rounds.json --html rounds.html 2>/dev/null
exec /usr/bin/python3 "$PLIMSOLL_BROWSER/plan_page.py" page.html measured.html ranks.html homes.html rounds.html
