# The report of a plan that offloads and recomputes, opened in a browser.
. "$PLIMSOLL_CLI/common.sh"
plimsoll model resnet18:input=32,stem=cifar,width=8,channels=1,classes=10 -o net.onnx 2>/dev/null
plimsoll plan -q net.onnx --batch 16 --costs k40m --effort 0 --policy auto --budget 35% -o plan.json
plimsoll inspect plan.json --html page.html --trace trace.json 2>/dev/null
plimsoll inspect plan.json --html measured.html --measured trace.json 2>/dev/null
plimsoll plan -q net.onnx --batch 16 --costs k40m --effort 0 --ranks 2 -o ranks.json
plimsoll inspect ranks.json --html ranks.html 2>/dev/null
exec /usr/bin/python3 "$PLIMSOLL_BROWSER/plan_page.py" page.html measured.html ranks.html
